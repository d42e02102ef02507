/* SPDX-License-Identifier: Apache-2.0 */
/* Every subcommand of `cachew cache`: TOOL(name, summary), the function tool_cache_NAME of cache_NAME.c, in the order of `cachew cache --help`. */
TOOL(dump, "show what is in a chunk")
TOOL(warm, "bring source files into the source cache")
TOOL(status, "show the source cache, and how much of a source is in it")
