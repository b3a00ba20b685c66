// Makes a system call by the 32-bit interface ("32") or by the numbers of x32 ("x32"), and prints its result.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { arguments = 6, text_bytes = 256, x32 = 0x40000000 };

static long call_32(const long *values) {
#ifdef __x86_64__
    long result;
    __asm__ volatile("int $0x80"
                     : "=a"(result)
                     : "a"(values[0]), "b"(values[1]), "c"(values[2]), "d"(values[3]), "S"(values[4]), "D"(values[5])
                     : "memory", "r8", "r9", "r10", "r11");
    return (int)result;
#else
    (void)values;
    return -ENOSYS;
#endif
}

int main(int count, char **words) {
#ifdef MAP_32BIT
    const int low = MAP_32BIT;  // an address that fits into 32 bits
#else
    const int low = 0;
#endif
    char *texts = mmap(NULL, arguments * text_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | low, -1, 0);
    long values[1 + arguments] = {0};
    if (texts == MAP_FAILED || count < 3 || count > 3 + arguments) {
        return 2;
    }
    for (int i = 2; i < count; ++i) {
        if (words[i][0] == '=') {
            strncpy(texts, words[i] + 1, text_bytes - 1);
            values[i - 2] = (long)texts;
            texts += text_bytes;
        } else {
            values[i - 2] = strtol(words[i], NULL, 0);
        }
    }
    if (strcmp(words[1], "32") == 0) {
        printf("%ld\n", call_32(values));
        return 0;
    }
    const long result = syscall(values[0] | x32, values[1], values[2], values[3], values[4], values[5], values[6]);
    printf("%ld\n", result < 0 ? -(long)errno : result);
    return 0;
}
