/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the version of the library, and makes something of it work without a service. */
#include <cachew/cachew.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    struct cachew_pipeline *pipeline = NULL;
    struct cachew_error error = CACHEW_ERROR_INIT;
    struct cachew_builder *builder = cachew_builder_new("outside");
    cachew_add(builder, "range");
    cachew_set_i64(builder, "stop", 10);
    if (cachew_builder_finish(builder, &pipeline, &error) != 0) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    char *text = cachew_pipeline_text(pipeline);
    int good = text && *text;
    free(text);
    cachew_pipeline_release(pipeline);
    printf("%s\n", cachew_version());
    return good ? 0 : 1;
}
