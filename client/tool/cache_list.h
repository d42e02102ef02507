/* SPDX-License-Identifier: Apache-2.0 */
/* Every subcommand of `cachew cache`, as TOOL(name, summary), in the order of `cachew cache
 * --help`. The function is tool_cache_NAME. */
TOOL(ls, "list what the cache holds")
TOOL(evict, "delete what a key has, all, or as much as is needed")
TOOL(pin, "keep what a key has")
TOOL(unpin, "let it go when room is needed")
TOOL(scan, "list the store again")
TOOL(dump, "show what is in a chunk")
TOOL(verify, "check every chunk of a store")
TOOL(fetch, "copy the chunks of a store to a directory")
TOOL(attach, "add a named cache")
TOOL(detach, "take a named cache away")
TOOL(describe, "show caches, who uses them, and how full they are")
TOOL(warm, "bring source files into the source cache")
TOOL(status, "show the source cache, and how much of a source is in it")
