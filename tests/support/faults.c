/* Calls of the C library that fail when they are told to: loaded before it with LD_PRELOAD (Linux, glibc).
 *
 * A process arms the shim for one kind of call: the k-th such call below a folder fails, and all that come after it if
 * `last` is large. Calls are counted while it is armed, so that a clean run says how many there are. A write that is to
 * fail for want of space writes half of its bytes first, as a full disk does; one that fails with no error (0) writes
 * half and says so, as a write that was interrupted does. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { NOTHING, WRITE, SYNC, RENAME, OPEN, MEMORY };

static atomic_int armed = NOTHING;
static atomic_long calls = 0;
static long first = 0, last = 0;
static size_t smallest = 0;
static int reason = ENOSPC;
static char folder[4096];

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

/* Calls of this kind from `from` to `until` (from 1) fail with `error`; of memory, those of `size` bytes or more. */
void fault_arm(int kind, long from, long until, int error, const char *below, size_t size) {
    armed = NOTHING;
    calls = 0;
    first = from, last = until, reason = error, smallest = size;
    strncpy(folder, below, sizeof folder - 1);
    armed = kind;
}

long fault_disarm(void) {
    armed = NOTHING;
    return calls;
}

static int fails(int kind) {
    if (armed != kind) return 0;
    long number = ++calls;
    return first <= number && number <= last;
}

static int is_below(const char *path) { return path && !strncmp(path, folder, strlen(folder)); }

static int file_is_below(int file) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return is_below(path);
}

static int path_is_below(const char *path) {
    char whole[8192];
    if (path && path[0] != '/') {
        if (!getcwd(whole, 4096)) return 0;
        strcat(whole, "/");
        strncat(whole, path, 4000);
        return is_below(whole);
    }
    return is_below(path);
}

static int write_fails(int file) { return armed == WRITE && file_is_below(file) && fails(WRITE); }

#define REAL(name, type) ((type)dlsym(RTLD_NEXT, name))

ssize_t write(int file, const void *bytes, size_t size) {
    ssize_t (*real)(int, const void *, size_t) = REAL("write", ssize_t(*)(int, const void *, size_t));
    if (write_fails(file)) {
        if (!reason) return real(file, bytes, (size + 1) / 2);
        if (reason == ENOSPC && size > 1) real(file, bytes, size / 2);
        errno = reason;
        return -1;
    }
    return real(file, bytes, size);
}

ssize_t writev(int file, const struct iovec *parts, int count) {
    if (write_fails(file)) return errno = reason ? reason : EINTR, -1;
    return REAL("writev", ssize_t(*)(int, const struct iovec *, int))(file, parts, count);
}

ssize_t pwrite64(int file, const void *bytes, size_t size, off64_t at) {
    ssize_t (*real)(int, const void *, size_t, off64_t) = REAL("pwrite64", ssize_t(*)(int, const void *, size_t, off64_t));
    if (write_fails(file)) {
        if (!reason) return real(file, bytes, (size + 1) / 2, at);
        if (reason == ENOSPC && size > 1) real(file, bytes, size / 2, at);
        errno = reason;
        return -1;
    }
    return real(file, bytes, size, at);
}

ssize_t pwrite(int file, const void *bytes, size_t size, off_t at) { return pwrite64(file, bytes, size, at); }

int ftruncate64(int file, off64_t size) {
    if (write_fails(file)) return errno = reason ? reason : EINTR, -1;
    return REAL("ftruncate64", int (*)(int, off64_t))(file, size);
}

int ftruncate(int file, off_t size) { return ftruncate64(file, size); }

int fsync(int file) {
    if (armed == SYNC && file_is_below(file) && fails(SYNC)) return errno = reason, -1;
    return REAL("fsync", int (*)(int))(file);
}

int fdatasync(int file) {
    if (armed == SYNC && file_is_below(file) && fails(SYNC)) return errno = reason, -1;
    return REAL("fdatasync", int (*)(int))(file);
}

int rename(const char *from, const char *to) {
    if (armed == RENAME && path_is_below(to) && fails(RENAME)) return errno = reason, -1;
    return REAL("rename", int (*)(const char *, const char *))(from, to);
}

int renameat(int a, const char *from, int b, const char *to) {
    if (armed == RENAME && path_is_below(to) && fails(RENAME)) return errno = reason, -1;
    return REAL("renameat", int (*)(int, const char *, int, const char *))(a, from, b, to);
}

static int open_fails(const char *path, int flags) {
    return armed == OPEN && (flags & (O_CREAT | O_WRONLY | O_RDWR)) && path_is_below(path) && fails(OPEN);
}

#define OPENS(name)                                                             \
    int name(const char *path, int flags, ...) {                                \
        va_list more;                                                           \
        va_start(more, flags);                                                  \
        mode_t mode = va_arg(more, mode_t);                                     \
        va_end(more);                                                           \
        if (open_fails(path, flags)) return errno = reason, -1;                 \
        return REAL(#name, int (*)(const char *, int, ...))(path, flags, mode); \
    }
OPENS(open)
OPENS(open64)

#define OPENS_AT(name)                                                                     \
    int name(int at, const char *path, int flags, ...) {                                   \
        va_list more;                                                                      \
        va_start(more, flags);                                                             \
        mode_t mode = va_arg(more, mode_t);                                                \
        va_end(more);                                                                      \
        if (open_fails(path, flags)) return errno = reason, -1;                            \
        return REAL(#name, int (*)(int, const char *, int, ...))(at, path, flags, mode);   \
    }
OPENS_AT(openat)
OPENS_AT(openat64)

/* Requests of threads that do not hold Python's lock are granted: OpenBLAS does not look at what it was given, and NumPy
 * 2.4 raises its MemoryError for the buffers of a loop without the lock; the process ends in either. */
static int of_python(void) {
    static int (*held)(void) = NULL;
    if (!held) held = (int (*)(void))dlsym(RTLD_DEFAULT, "PyGILState_Check");
    return held && held();
}

static int memory_fails(size_t size) { return armed == MEMORY && size >= smallest && of_python() && fails(MEMORY); }

void *malloc(size_t size) {
    if (memory_fails(size)) return errno = ENOMEM, NULL;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    if (memory_fails(count * size)) return errno = ENOMEM, NULL;
    return __libc_calloc(count, size);
}

void *realloc(void *old, size_t size) {
    if (memory_fails(size)) return errno = ENOMEM, NULL;
    return __libc_realloc(old, size);
}

int posix_memalign(void **found, size_t alignment, size_t size) {
    if (memory_fails(size)) return ENOMEM;
    *found = __libc_memalign(alignment, size);
    return *found ? 0 : ENOMEM;
}

void *aligned_alloc(size_t alignment, size_t size) {
    if (memory_fails(size)) return errno = ENOMEM, NULL;
    return __libc_memalign(alignment, size);
}
