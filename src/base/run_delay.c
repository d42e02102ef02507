/* SPDX-License-Identifier: Apache-2.0 */
#include "base/run_delay.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int cw_run_delay_thread(void)
{
    return (int)gettid();
}

uint64_t cw_run_delay_parse(const char *schedstat)
{
    char *end = NULL;
    (void)strtoull(schedstat, &end, 10);
    return end == schedstat ? 0 : strtoull(end, NULL, 10);
}

uint64_t cw_run_delay_ns(int thread)
{
    char path[64], text[128];
    (void)snprintf(path, sizeof(path), "/proc/self/task/%d/schedstat", thread);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t n = read(fd, text, sizeof(text) - 1);
    (void)close(fd);
    if (n <= 0)
        return 0;
    text[n] = '\0';
    return cw_run_delay_parse(text);
}
