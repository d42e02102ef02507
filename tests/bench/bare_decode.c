/* SPDX-License-Identifier: Apache-2.0 */
/* The yardstick: a bare loop that decodes JPEG files fully to RGB with libjpeg-turbo, and
 * nothing else. Prints the CPU time (user + system) per image. usage: bare_decode [-n ROUNDS]
 * FILE... */
#include "bench/files.h"

#include <stdlib.h>
#include "base/clock.h"

int main(int argc, char **argv)
{
    struct bench_files files;
    const long rounds = bench_files_read(&files, argc, argv, 10);
    bench_decode_all(&files); /* once for the caches */
    const int64_t start = cw_clock_process_cpu_ns();
    for (long i = 0; i < rounds; i++)
        bench_decode_all(&files);
    const int64_t cpu_ns = cw_clock_process_cpu_ns() - start;
    const double images = (double)rounds * (double)files.n;
    printf("bare_decode: images=%.0f cpu_s_per_image=%.9f images_per_cpu_s=%.1f\n", images,
           (double)cpu_ns / 1e9 / images, images * 1e9 / (double)cpu_ns);
    bench_files_free(&files);
    return 0;
}
