/* Tries to change a file by one way, named by the first argument. Used by the attacks on confinement; exits with 0 if the kernel let it. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/fs.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define EVIL "evil\n"
static int put(int fd) { return fd < 0 || write(fd, EVIL, 5) != 5; }

/* One operation through io_uring. */
static int uring(int op, int fd, unsigned long addr, unsigned len, unsigned long off, unsigned flags) {
    struct io_uring_params p;
    memset(&p, 0, sizeof p);
    int ring = syscall(SYS_io_uring_setup, 4, &p);
    if (ring < 0) return -errno;
    size_t size = p.sq_off.array + p.sq_entries * 4;
    size_t csize = p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe);
    if (csize > size) size = csize;
    char *sq = mmap(0, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQ_RING);
    char *cq = p.features & IORING_FEAT_SINGLE_MMAP ? sq : mmap(0, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_CQ_RING);
    struct io_uring_sqe *sqe = mmap(0, p.sq_entries * sizeof *sqe, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQES);
    memset(sqe, 0, sizeof *sqe);
    sqe->opcode = op; sqe->fd = fd; sqe->addr = addr; sqe->len = len; sqe->off = off; sqe->open_flags = flags;
    ((unsigned *)(sq + p.sq_off.array))[0] = 0;
    __atomic_store_n((unsigned *)(sq + p.sq_off.tail), 1, __ATOMIC_RELEASE);
    if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, 0, 0) < 0) return -errno;
    struct io_uring_cqe *cqe = (void *)(cq + p.cq_off.cqes);
    return cqe[0].res;
}

/* A descriptor from whoever listens at an abstract socket, or a request that it writes the file. */
static int ask(const char *name, int abstract, const char *path) {
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    size_t n = strlen(name);
    if (abstract) memcpy(a.sun_path + 1, name, n); else memcpy(a.sun_path, name, n);
    int s = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connect(s, (void *)&a, offsetof(struct sockaddr_un, sun_path) + n + 1)) return 1;
    if (write(s, path, strlen(path)) < 0) return 1;
    shutdown(s, SHUT_WR);
    char b[8];
    return read(s, b, 8) < 0;
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    const char *way = argv[1], *path = argv[2], *other = argc > 3 ? argv[3] : "";
    char fd_path[64], buf[4096];
    int fd;
#define WAY(name) if (!strcmp(way, name))
    WAY("open") return put(open(path, O_WRONLY));
    WAY("open-append") return put(open(path, O_WRONLY | O_APPEND));
    WAY("open-rdwr") return put(open(path, O_RDWR));
    WAY("open-create") return put(open(path, O_WRONLY | O_CREAT, 0644));
    WAY("open-excl") return put(open(path, O_WRONLY | O_CREAT | O_EXCL, 0755));
    WAY("creat") return put(creat(path, 0644));
    WAY("open-trunc-ro") return open(path, O_RDONLY | O_TRUNC) < 0;
    WAY("openat-folder") {
        strcpy(buf, path); *strrchr(buf, '/') = 0;
        int d = open(buf, O_RDONLY | O_DIRECTORY);
        return put(openat(d, strrchr(path, '/') + 1, O_WRONLY | O_CREAT, 0644));
    }
    WAY("fchdir") {
        strcpy(buf, path); *strrchr(buf, '/') = 0;
        int d = open(buf, O_RDONLY | O_DIRECTORY);
        return fchdir(d) || put(open(strrchr(path, '/') + 1, O_WRONLY | O_CREAT, 0644));
    }
    WAY("openat2-in-root") {
        strcpy(buf, path); *strrchr(buf, '/') = 0;
        struct { unsigned long flags, mode, resolve; } how = {O_WRONLY, 0, 0x10};
        int d = open(buf, O_PATH | O_DIRECTORY);
        return put(syscall(SYS_openat2, d, strrchr(path, '/') + 1, &how, sizeof how));
    }
    WAY("reopen-ro") {
        fd = open(path, O_RDONLY); sprintf(fd_path, "/proc/self/fd/%d", fd);
        return put(open(fd_path, O_WRONLY));
    }
    WAY("reopen-path") {
        fd = open(path, O_PATH); sprintf(fd_path, "/proc/self/fd/%d", fd);
        return put(open(fd_path, O_RDWR));
    }
    WAY("dev-fd") {
        fd = open(path, O_RDONLY); sprintf(fd_path, "/dev/fd/%d", fd);
        return put(open(fd_path, O_WRONLY | O_TRUNC));
    }
    WAY("proc-root") { snprintf(buf, sizeof buf, "/proc/self/root%s", path); return put(open(buf, O_WRONLY | O_CREAT, 0644)); }
    WAY("proc-cwd") { snprintf(buf, sizeof buf, "/proc/self/cwd/%s", path); return put(open(buf, O_WRONLY | O_CREAT, 0644)); }
    WAY("proc-thread") { snprintf(buf, sizeof buf, "/proc/thread-self/root%s", path); return put(open(buf, O_WRONLY | O_CREAT, 0644)); }
    WAY("tmpfile-link") {
        fd = open("src/auth", O_TMPFILE | O_RDWR, 0644); put(fd); sprintf(fd_path, "/proc/self/fd/%d", fd);
        return linkat(AT_FDCWD, fd_path, AT_FDCWD, path, AT_SYMLINK_FOLLOW);
    }
    WAY("truncate") return truncate(path, 1);
    WAY("truncate-grow") return truncate(path, 100);
    WAY("sendfile") { int from = open("src/auth/login.ts", O_RDONLY); fd = open(path, O_WRONLY); return sendfile(fd, from, 0, 5) < 0; }
    WAY("rename") return rename(other, path);
    WAY("renameat2-exchange") return syscall(SYS_renameat2, AT_FDCWD, other, AT_FDCWD, path, 2);
    WAY("renameat2-whiteout") return syscall(SYS_renameat2, AT_FDCWD, path, AT_FDCWD, other, 4);
    WAY("rename-out") return rename(path, other);
    WAY("link") return link(other, path);
    WAY("link-in") { if (link(path, other)) return 1; return put(open(other, O_WRONLY)); }
    WAY("link-empty-path") { fd = open(other, O_PATH); return linkat(fd, "", AT_FDCWD, path, AT_EMPTY_PATH); }
    WAY("symlink") return symlink("/etc/passwd", path);
    WAY("symlink-through") { unlink(other); if (symlink(path, other)) return 1; return put(open(other, O_WRONLY | O_CREAT, 0644)); }
    WAY("unlink") return unlink(path);
    WAY("unlinkat") return unlinkat(AT_FDCWD, path, 0);
    WAY("rmdir") return rmdir(path);
    WAY("mkdir") return mkdir(path, 0755);
    WAY("mkfifo") return mkfifo(path, 0644);
    WAY("mknod") return mknod(path, S_IFREG | 0644, 0);
    WAY("mknod-null") return mknod(path, S_IFCHR | 0644, 0x103);
    WAY("bind-socket") {
        struct sockaddr_un a = {.sun_family = AF_UNIX};
        strncpy(a.sun_path, path, sizeof a.sun_path - 1);
        return bind(socket(AF_UNIX, SOCK_STREAM, 0), (void *)&a, sizeof a);
    }
    WAY("uring-open") return put(uring(IORING_OP_OPENAT, AT_FDCWD, (unsigned long)path, 0644, 0, O_WRONLY | O_CREAT));
    WAY("uring-unlink") return uring(IORING_OP_UNLINKAT, AT_FDCWD, (unsigned long)path, 0, 0, 0) < 0;
    WAY("uring-mkdir") return uring(IORING_OP_MKDIRAT, AT_FDCWD, (unsigned long)path, 0755, 0, 0) < 0;
    WAY("uring-rename") return uring(IORING_OP_RENAMEAT, AT_FDCWD, (unsigned long)other, AT_FDCWD, (unsigned long)path, 0) < 0;
    WAY("uring-symlink") return uring(IORING_OP_SYMLINKAT, AT_FDCWD, (unsigned long)"/x", 0, (unsigned long)path, 0) < 0;
    WAY("uring-link") return uring(IORING_OP_LINKAT, AT_FDCWD, (unsigned long)other, AT_FDCWD, (unsigned long)path, 0) < 0;
    WAY("fork") { pid_t p = fork(); if (!p) _exit(put(open(path, O_WRONLY | O_CREAT, 0644))); int s; waitpid(p, &s, 0); return s; }
    WAY("double-fork") {
        if (!fork()) { setsid(); if (!fork()) { usleep(20000); _exit(put(open(path, O_WRONLY | O_CREAT, 0644))); } _exit(0); }
        usleep(200000); return 0;
    }
    WAY("vfork-exec") { pid_t p = vfork(); if (!p) { execl("/bin/sh", "sh", "-c", "echo evil > \"$0\"", path, NULL); _exit(1); } int s; waitpid(p, &s, 0); return s; }
    WAY("memfd-exec") {
        /* This very program, from memory, as another process image. */
        int self = open("/proc/self/exe", O_RDONLY), m = memfd_create("x", 0);
        ssize_t n; while ((n = read(self, buf, sizeof buf)) > 0) if (write(m, buf, n) < 0) return 1;
        char *args[] = {"x", "open-create", (char *)path, NULL}, *env[] = {NULL};
        fexecve(m, args, env); return 1;
    }
    WAY("chroot") { if (chroot("/")) return 1; return put(open(path, O_WRONLY | O_CREAT, 0644)); }
    WAY("unshare-mount") {
        if (unshare(CLONE_NEWUSER | CLONE_NEWNS)) return 1;
        mount(0, "/", 0, MS_REC | MS_PRIVATE, 0);
        strcpy(buf, path); *strrchr(buf, '/') = 0;
        if (mount(buf, "src/auth", 0, MS_BIND, 0)) return 1;
        snprintf(buf, sizeof buf, "src/auth/%s", strrchr(path, '/') + 1);
        return put(open(buf, O_WRONLY | O_CREAT, 0644));
    }
    WAY("mount-bind") {
        strcpy(buf, path); *strrchr(buf, '/') = 0;
        if (mount(buf, "src/auth", 0, MS_BIND, 0)) return 1;
        snprintf(buf, sizeof buf, "src/auth/%s", strrchr(path, '/') + 1);
        int r = put(open(buf, O_WRONLY | O_CREAT, 0644)); umount("src/auth"); return r;
    }
    WAY("open-tree") {
        strcpy(buf, path); *strrchr(buf, '/') = 0;
        int t = syscall(SYS_open_tree, AT_FDCWD, buf, 1 | O_CLOEXEC);
        if (t < 0) return 1;
        return put(openat(t, strrchr(path, '/') + 1, O_WRONLY | O_CREAT, 0644));
    }
    WAY("setns") {
        snprintf(buf, sizeof buf, "/proc/%s/ns/mnt", other);
        fd = open(buf, O_RDONLY); if (fd < 0 || setns(fd, 0)) return 1;
        return put(open(path, O_WRONLY | O_CREAT, 0644));
    }
    WAY("handle") {
        struct { struct file_handle h; char b[128]; } h; int mount_id;
        h.h.handle_bytes = 128;
        if (name_to_handle_at(AT_FDCWD, path, &h.h, &mount_id, 0)) return 1;
        strcpy(buf, path); *strrchr(buf, '/') = 0;
        int d = open(buf, O_RDONLY | O_DIRECTORY);
        return put(open_by_handle_at(d, &h.h, O_WRONLY));
    }
    WAY("ptrace") {
        pid_t p = atoi(other);
        if (ptrace(PTRACE_ATTACH, p, 0, 0)) return 1;
        waitpid(p, 0, 0); ptrace(PTRACE_DETACH, p, 0, 0);
        return put(open(path, O_WRONLY | O_CREAT, 0644)), 0;
    }
    WAY("proc-mem") { snprintf(buf, sizeof buf, "/proc/%s/mem", other); return open(buf, O_RDWR) < 0; }
    WAY("proc-fd") { snprintf(buf, sizeof buf, "/proc/%s/fd/9", other); return put(open(buf, O_WRONLY)); }
    WAY("proc-pid-root") { snprintf(buf, sizeof buf, "/proc/%s/root%s", other, path); return put(open(buf, O_WRONLY | O_CREAT, 0644)); }
    WAY("proc-pid-cwd") { snprintf(buf, sizeof buf, "/proc/%s/cwd/%s", other, path); return put(open(buf, O_WRONLY | O_CREAT, 0644)); }
    WAY("vm-writev") { struct iovec l = {EVIL, 5}, r = {(void *)0x1000, 5}; (void)r; return process_vm_writev(atoi(other), &l, 1, &r, 1, 0) < 0; }
    WAY("pidfd-getfd") { int p = syscall(SYS_pidfd_open, atoi(other), 0); return put(syscall(SYS_pidfd_getfd, p, 9, 0)); }
    WAY("abstract-socket") return ask(other, 1, path);
    WAY("acct") return acct(path);
    WAY("core") {
        struct rlimit l = {RLIM_INFINITY, RLIM_INFINITY};
        if (chdir(path) || setrlimit(RLIMIT_CORE, &l)) return 1;
        prctl(PR_SET_DUMPABLE, 1); pid_t p = fork(); if (!p) { abort(); } int s; waitpid(p, &s, 0); return !WCOREDUMP(s);
    }
    WAY("tiocsti") {
        fd = open("/dev/tty", O_RDWR); if (fd < 0) fd = 0;
        for (const char *c = path; *c; c++) if (ioctl(fd, TIOCSTI, c)) return 1;
        return 0;
    }
    WAY("landlock-again") {
        /* A domain of one's own that grants everything takes nothing back. */
        unsigned long handled = 2;
        int r = syscall(444, &handled, sizeof handled, 0);
        struct { unsigned long access; int fd; } __attribute__((packed)) rule = {2, open("/", O_PATH)};
        syscall(445, r, 1, &rule, 0); syscall(446, r, 0);
        return put(open(path, O_WRONLY | O_CREAT, 0644));
    }
    WAY("no-new-privs-off") { prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0); return put(open(path, O_WRONLY | O_CREAT, 0644)); }
    WAY("setuid") { if (setuid(0)) {} return put(open(path, O_WRONLY | O_CREAT, 0644)); }
    WAY("swapon") return syscall(SYS_swapon, path, 0);
    /* What Landlock does not cover: see docs/threats.md. */
    WAY("chmod") return chmod(path, 0777);
    WAY("utimes") { struct timespec t[2] = {{1, 0}, {1, 0}}; return utimensat(AT_FDCWD, path, t, 0); }
    fprintf(stderr, "no way %s\n", way);
    return 2;
}
