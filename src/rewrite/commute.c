/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/commute.h"

/* Returns the fields that one writes and the other reads or writes. */
static struct cw_field_set shared(const struct cw_op_facts *one, const struct cw_op_facts *other)
{
    struct cw_field_set set = other->reads;

    cw_field_set_join(&set, &other->writes);
    cw_field_set_meet(&set, &one->writes);
    return set;
}

/* ---- two effects on one field; a and b in any order ---- */

static bool is_pair(const struct cw_op_facts *a, const struct cw_op_facts *b, enum cw_op_effect x,
                    enum cw_op_effect y)
{
    return a->effect == x && b->effect == y;
}

/* The mirrored dimension is the one that decides what becomes of a value. */
static const char *why_each_mirror(const struct cw_op_facts *each, const struct cw_op_facts *mirror,
                                   int rank)
{
    return each->by_last_dim && mirror->axis == rank - 1
               ? "has one number for each column, and the other mirrors columns"
               : NULL;
}

static const char *why_each_crop(const struct cw_op_facts *each, const int64_t gap[2], int rank)
{
    bool is_within = gap[0] >= 0 && gap[1] >= 0; /* CW_GAP_UNKNOWN is less */

    if (each->refuses_values)
        return "may refuse an image for a value, and the other cuts values off";
    if (each->by_last_dim && rank == 2)
        return "has one number for each column, and the other moves columns";
    return is_within || each->keeps_zero
               ? NULL
               : "makes something else of the zeros that may be put around an image";
}

static const char *why_each_repeat(const struct cw_op_facts *each, int rank)
{
    return each->by_last_dim && rank < 2
               ? "has one number for each column, and the other adds columns"
               : NULL;
}

static const char *why_mirror_crop(const struct cw_op_facts *mirror, const int64_t gap[2])
{
    if (gap[mirror->axis] == CW_GAP_UNKNOWN)
        return "takes the middle of an image whose size is not known";
    return gap[mirror->axis] % 2 == 0
               ? NULL
               : "cannot take the very middle: an odd number of pixels is left over";
}

/* Pairs are looked at as (a, b) and as (b, a); rank and gap are those of the field. Returns whether
 * the pair is known here. */
static bool judge(const struct cw_op_facts *a, const struct cw_op_facts *b, size_t field, int rank,
                  const char **ret_why)
{
    *ret_why = NULL;
    if (is_pair(a, b, CW_EFFECT_EACH, CW_EFFECT_MIRROR))
        *ret_why = why_each_mirror(a, b, rank);
    else if (is_pair(a, b, CW_EFFECT_EACH, CW_EFFECT_CROP))
        *ret_why = why_each_crop(a, b->gap[field], rank);
    else if (is_pair(a, b, CW_EFFECT_EACH, CW_EFFECT_REPEAT))
        *ret_why = why_each_repeat(a, rank);
    else if (is_pair(a, b, CW_EFFECT_MIRROR, CW_EFFECT_CROP))
        *ret_why = why_mirror_crop(a, b->gap[field]);
    else
        return is_pair(a, b, CW_EFFECT_MIRROR, CW_EFFECT_MIRROR) ||
               is_pair(a, b, CW_EFFECT_MIRROR, CW_EFFECT_REPEAT) ||
               is_pair(a, b, CW_EFFECT_REPEAT, CW_EFFECT_REPEAT) ||
               is_pair(a, b, CW_EFFECT_ALL, CW_EFFECT_MIRROR) ||
               is_pair(a, b, CW_EFFECT_ALL, CW_EFFECT_REPEAT);
    return true;
}

static const char *why_not_on_field(const struct cw_chain_op *down, const struct cw_chain_op *up,
                                    size_t field)
{
    const struct cw_op_facts *a = &down->facts, *b = &up->facts;
    const char *why;

    if (!cw_field_set_has(&a->effect_on, field) || !cw_field_set_has(&b->effect_on, field))
        return "reads or writes a field that the other writes";
    /* whether the field is repeated first does not matter: that keeps the rank of images, and what
     * has no rank is looked at as it comes to the first of the two */
    int rank = down->in->fields[field].rank;
    if (judge(a, b, field, rank, &why) || judge(b, a, field, rank, &why))
        return why;
    return "changes the same field in a way that depends on the order";
}

/* ---- two operators ---- */

static const char *why_elements(const struct cw_op_facts *down, const struct cw_op_facts *up)
{
    if (down->drops && up->refuses)
        return "may refuse elements that the filter before it leaves out";
    if (down->names_field && up->names_field)
        return "adds or names a field, as the other does";
    if ((down->names_field && cw_field_set_meets(&down->writes, &up->weighs)) ||
        (up->names_field && cw_field_set_meets(&up->writes, &down->weighs)))
        return "works on a field to which the other gives a name";
    return NULL;
}

/* Elements are chosen by their places before anything is computed. */
static const char *why_not_past_map(const struct cw_chain_op *map, const struct cw_chain_op *other)
{
    if (!other->facts.known)
        return "is not known well enough, or the other is not";
    if (other->facts.drops)
        return "leaves elements out, or the other does, and one of them goes by their places";
    return other->draws && map->maps == CW_MAPS_AGAIN
               ? "draws, or the other does, and one of them may give an element again"
               : NULL;
}

const char *cw_why_not_swapped(const struct cw_chain_op *down, const struct cw_chain_op *up)
{
    if (down->maps || up->maps)
        return why_not_past_map(down->maps ? down : up, down->maps ? up : down);
    if (!down->facts.known || !up->facts.known)
        return "is not known well enough, or the other is not";
    const char *why = why_elements(&down->facts, &up->facts);
    const struct cw_field_set a = shared(&down->facts, &up->facts),
                              b = shared(&up->facts, &down->facts);
    for (size_t i = 0; !why && i < CW_FIELDS_MAX; i++)
        if (cw_field_set_has(&a, i) || cw_field_set_has(&b, i))
            why = why_not_on_field(down, up, i);
    return why;
}
