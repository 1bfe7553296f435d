# Makes a root of its own in a new mount namespace and runs the runner in it: the machine's programs read-only, no network,
# nothing else of the machine in sight. $1 is an empty folder, $2 the runner, $3 what it is told.
set -e
new=$1
mount -t tmpfs -o size=128m,nr_inodes=30000,mode=755 attack "$new"
mkdir -p "$new/workspace" "$new/home/user" "$new/sibling" "$new/tmp" "$new/var/tmp" "$new/run" "$new/proc" "$new/dev" "$new/root"
chmod 1777 "$new/tmp" "$new/var/tmp"
for name in usr etc bin sbin lib lib32 lib64; do
    if [ -h "/$name" ]; then
        ln -s "$(readlink "/$name")" "$new/$name"
    elif [ -d "/$name" ]; then
        mkdir "$new/$name"
        mount --rbind "/$name" "$new/$name"
        mount -o remount,bind,ro "$new/$name" 2>/dev/null || true
    fi
done
for name in null zero full random urandom; do
    : > "$new/dev/$name"
    mount --bind "/dev/$name" "$new/dev/$name"
done
ln -s /proc/self/fd "$new/dev/fd"
ln -s /proc/self/fd/0 "$new/dev/stdin"
ln -s /proc/self/fd/1 "$new/dev/stdout"
ln -s /proc/self/fd/2 "$new/dev/stderr"
mount -t proc proc "$new/proc"
cp "$2" "$new/runner"
chmod 755 "$new/runner"
cd "$new"
exec chroot "$new" /runner "$3"
