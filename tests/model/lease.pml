/* SPDX-License-Identifier: Apache-2.0 */
/* The lease protocol (docs/protocol.md) with two workers, a dispatcher and a client, any of which may die, and links that break with
 * what they carry. A bounded number of faults may strike at any moment. Checked: nothing is given to the trainer twice or left
 * out (the order of consumption), a restarted dispatcher never leases beyond what it may, and whenever nothing more can happen
 * the epoch is over (no stand-still).
 *
 * DEFECT n compiles in a known mistake; run.sh expects each to be found:
 *   1  a lost worker's items are not freed           4  a restarted dispatcher does not ask the client what it has
 *   2  the client does not report a broken link      5  duplicates are not dropped by number
 *   3  the window is ignored                         6  the token is ahead of what was consumed
 *   7  a client that attaches again does not free what is leased and not received
 *
 * The search is complete, or it shows nothing: so this is one fault, and either three items of which one is out at a time, or two that are
 * out together. Two faults, messages that are told again, joins and consumers that share a job are for a simulation.
 */
#ifndef DEFECT
#define DEFECT 0
#endif
#ifndef ITEMS
#define ITEMS 3
#endif
#ifndef WINDOW
#define WINDOW 1
#endif
#define WORKERS 2
#ifndef FAULTS
#define FAULTS 1
#endif

/* Messages in flight: queues that are lost with their link. */
chan leases[WORKERS] = [1] of { byte };  /* dispatcher -> worker: item */
chan outputs[WORKERS] = [1] of { byte }; /* worker -> client: item */
mtype = { RECEIVED, CONSUMED, LOST };
chan acks = [2] of { mtype, byte };      /* client -> dispatcher */

/* Worker: what it holds. */
bool worker_up[WORKERS];
byte held[WORKERS]; /* bits: leased or computed, not yet sent */

/* Dispatcher. */
bool dispatcher_up;
byte leased_to[ITEMS]; /* 0 = nobody, w + 1 */
byte known_received;   /* bits, not durable */
byte consumed;         /* durable: items below are consumed */
bool attached[WORKERS], client_attached;

/* Client and trainer. */
bool client_up;
byte received; /* bits */
byte next;     /* the item to give out */
byte token;    /* saved by the trainer */
bool broken[WORKERS]; /* link to this worker broke and is not reported yet */
byte faults = FAULTS;
bool over;

/* Scratch of single atomic steps: no part of the state. */
hidden byte item, f, w;
hidden mtype kind;

#define BIT(i) (1 << (i))
#define HAS(set, i) ((set) & BIT(i))
#define FREE(i) (i >= consumed && !HAS(known_received, i) && leased_to[i] == 0)
#if ITEMS == 3
#define LOWEST (FREE(0) -> 0 : (FREE(1) -> 1 : (FREE(2) -> 2 : ITEMS)))
#define FREE_ALL leased_to[0] = 0; leased_to[1] = 0; leased_to[2] = 0
#else
#define LOWEST (FREE(0) -> 0 : (FREE(1) -> 1 : ITEMS))
#define FREE_ALL leased_to[0] = 0; leased_to[1] = 0
#endif
#define LEASABLE (LOWEST < ITEMS && (LOWEST < consumed + WINDOW || DEFECT == 3))

inline free_items(w)
{
    f = 0;
    do
    :: f < ITEMS -> if :: leased_to[f] == w + 1 -> leased_to[f] = 0 :: else fi; f++
    :: else -> break
    od;
    f = 0
}
inline drain(queue, a)
{
    do :: queue?a :: empty(queue) -> break od
}

active [WORKERS] proctype Worker()
{
    worker_up[_pid] = true;
    do
    :: over -> break
    :: atomic { worker_up[_pid] && nempty(leases[_pid]) -> leases[_pid]?item; held[_pid] = held[_pid] | BIT(item) }
    :: atomic { worker_up[_pid] && client_up && !broken[_pid] && held[_pid] && nfull(outputs[_pid]) ->
            if :: HAS(held[_pid], 0) -> item = 0 :: HAS(held[_pid], 1) -> item = 1 :: HAS(held[_pid], 2) -> item = 2 fi;
            held[_pid] = held[_pid] & ~BIT(item);
            outputs[_pid]!item }
    :: atomic { faults > 0 && worker_up[_pid] -> /* kill -9, and another one in its place */
            faults--;
            held[_pid] = 0;
            drain(leases[_pid], item); drain(outputs[_pid], item);
            if :: client_up -> broken[_pid] = true :: else fi;
            attached[_pid] = false }
    :: atomic { faults > 0 && client_up && worker_up[_pid] && !broken[_pid] -> /* the link to the client breaks */
            faults--;
            drain(outputs[_pid], item);
            broken[_pid] = true }
    :: atomic { faults > 0 && attached[_pid] -> /* the link to the dispatcher breaks: messages are lost */
            faults--;
            drain(leases[_pid], item);
            attached[_pid] = false }
    od
}

active proctype Dispatcher()
{
    dispatcher_up = true;
    do
    :: over -> break
    :: atomic { dispatcher_up && client_attached && nempty(acks) ->
            acks?kind, item;
            if
            :: kind == RECEIVED -> known_received = known_received | BIT(item)
            :: kind == CONSUMED -> if :: item + 1 > consumed -> consumed = item + 1 :: else fi
            :: kind == LOST ->
                w = item;
                if :: DEFECT != 1 -> free_items(w) :: else fi
            fi;
            item = 0; w = 0 }
    /* A worker (re)attaches and says what it holds; all else leased to it is free again. */
    :: atomic { dispatcher_up && !attached[0] -> attached[0] = true; drain(leases[0], item); free_items(0); w = 0; item = 0;
            do :: item < ITEMS -> if :: HAS(held[0], item) && leased_to[item] == 0 -> leased_to[item] = 1 :: else fi; item++ :: else -> break od; item = 0 }
    :: atomic { dispatcher_up && !attached[1] -> attached[1] = true; drain(leases[1], item); free_items(1); w = 0; item = 0;
            do :: item < ITEMS -> if :: HAS(held[1], item) && leased_to[item] == 0 -> leased_to[item] = 2 :: else fi; item++ :: else -> break od; item = 0 }
    /* The client (re)attaches and says what it has. */
    :: atomic { dispatcher_up && client_up && !client_attached ->
            client_attached = true;
            do :: acks?kind, item :: empty(acks) -> break od;
            item = 0;
            if :: DEFECT == 4 -> skip :: else -> known_received = received; consumed = next fi;
            /* A report of a lost worker may have been lost with the link: what is leased and not received is free again. What a
             * worker still holds may come twice: it is dropped by number. */
            if :: DEFECT == 7 -> skip :: else -> FREE_ALL fi }
    /* Lease the lowest free item, inside the window, to an attached worker. */
    :: atomic { dispatcher_up && client_attached && LEASABLE && attached[0] && nfull(leases[0]) ->
            item = LOWEST; leased_to[item] = 1; leases[0]!item; assert(item < consumed + WINDOW); item = 0 }
    :: atomic { dispatcher_up && client_attached && LEASABLE && attached[1] && nfull(leases[1]) ->
            item = LOWEST; leased_to[item] = 2; leases[1]!item; assert(item < consumed + WINDOW); item = 0 }
    :: atomic { faults > 0 && dispatcher_up -> /* kill -9 and restart: only `consumed` is durable */
            faults--;
            known_received = 0;
            FREE_ALL;
            drain(leases[0], item); drain(leases[1], item);
            attached[0] = false; attached[1] = false; client_attached = false;
            item = 0 }
    od
}

active proctype Client()
{
    client_up = true;
    do
    :: next == ITEMS -> over = true; break
    :: atomic { nempty(outputs[0]) -> outputs[0]?item; goto got }
    :: atomic { nempty(outputs[1]) -> outputs[1]?item;
got:        if
            :: HAS(received, item) && DEFECT != 5 -> skip
            :: else ->
                received = received | BIT(item);
                if :: DEFECT == 5 && item < next -> assert(false) :: else fi;
                if :: client_attached && nfull(acks) -> acks!RECEIVED, item :: !client_attached || full(acks) -> client_attached = false fi
            fi;
            item = 0 }
    /* The trainer takes the next one; what it took before is consumed. */
    :: atomic { HAS(received, next) ->
            if :: client_attached && nfull(acks) -> acks!CONSUMED, next :: !client_attached || full(acks) -> client_attached = false fi;
            next++;
            if :: DEFECT == 6 -> token = next + 1 :: token = next :: skip fi }
    /* A broken link is reported, and made anew. */
    :: atomic { broken[0] && client_attached && nfull(acks) -> broken[0] = false; if :: DEFECT != 2 -> acks!LOST, 0 :: else fi }
    :: atomic { broken[1] && client_attached && nfull(acks) -> broken[1] = false; if :: DEFECT != 2 -> acks!LOST, 1 :: else fi }
    :: atomic { faults > 0 -> /* kill -9; the trainer comes back with its token */
            faults--;
            assert(token <= next);
            next = token;
            received = 0;
            item = 0;
            do :: item < next -> received = received | BIT(item); item++ :: else -> break od;
            item = 0;
            drain(outputs[0], item); drain(outputs[1], item);
            broken[0] = true; broken[1] = true;
            client_attached = false;
            if :: consumed > next -> consumed = next :: else fi }
    od
}
