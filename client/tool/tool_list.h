/* SPDX-License-Identifier: Apache-2.0 */
/* Every command: TOOL(name, summary), in the order of `cachew --help`. */
TOOL(run, "run a pipeline and consume its batches")
TOOL(check, "check a pipeline: operators, options, shapes")
TOOL(ops, "list the operators, or describe one")
TOOL(jobs, "list the jobs of a dispatcher")
TOOL(workers, "list the workers of a dispatcher")
TOOL(replay, "rebuild one batch, and show what is in it")
TOOL(simulate, "run policies about workers in virtual time")
TOOL(skip, "leave batches of a job out")
TOOL(remove, "end a job and forget it")
TOOL(explain, "show what is cached of a job, and why")
TOOL(decisions, "list what was decided about a job")
TOOL(cache, "look after the cache and its chunks")
