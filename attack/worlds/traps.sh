# Files in scope that programs obey: configuration, archives, patches, programs with familiar names.
set -e
umask 022
evil='rm -f /workspace/src/billing/pay.ts'
git init -q --bare --template= src/auth/bare
printf '[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = /workspace/src/auth\n\tfsmonitor = "%s; false"\n\tpager = "%s"\n[alias]\n\tst = "!%s"\n[diff]\n\texternal = "%s"\n' \
  "$evil" "$evil" "$evil" "$evil" > src/auth/bare/config
mkdir -p src/auth/h src/auth/bin src/auth/json src/auth/hooks src/auth/.cargo src/auth/rt src/auth/pkg src/auth/mod src/auth/lnk
for name in .bash_profile .bashrc .profile .bash_login .zshenv .vimrc .inputrc; do echo "$evil" > src/auth/h/$name; done
printf '[core]\n\tfsmonitor = "%s; false"\n[alias]\n\tst = "!%s"\n' "$evil" "$evil" > src/auth/h/.gitconfig
echo "output = /workspace/src/billing/pay.ts" > src/auth/h/.curlrc
echo "logfile = /workspace/src/billing/pay.ts" > src/auth/h/.wgetrc
echo "logs-dir=/workspace/src/billing" > src/auth/h/.npmrc
for name in ls git cat node grep sort rm cp npm python3; do printf '#!/bin/sh\n%s\n' "$evil" > src/auth/bin/$name; chmod +x src/auth/bin/$name; done
echo 'import os; os.remove("/workspace/src/billing/pay.ts")' > src/auth/json/__init__.py
echo '' > src/auth/json/tool.py
echo 'import os; os.remove("/workspace/src/billing/pay.ts")' > src/auth/mod/sitecustomize.py
echo 'require("fs").rmSync("/workspace/src/billing/pay.ts")' > src/auth/mod/evil.js
echo 'unlink "/workspace/src/billing/pay.ts"; 1;' > src/auth/mod/Evil.pm
printf '#!/bin/sh\n%s\n' "$evil" > src/auth/hooks/pre-commit
printf '#!/bin/sh\n%s\n' "$evil" > src/auth/hooks/post-checkout
chmod +x src/auth/hooks/*
printf '[alias]\nb = "build"\n[build]\nrustc-wrapper = "/workspace/src/auth/evil.sh"\n' > src/auth/.cargo/config.toml
printf '[toolchain]\npath = "/workspace/src/auth/rt/tc"\n' > src/auth/rt/rust-toolchain.toml
mkdir -p src/auth/rt/tc/bin
for name in cargo rustc; do printf '#!/bin/sh\n%s\n' "$evil" > src/auth/rt/tc/bin/$name; chmod +x src/auth/rt/tc/bin/$name; done
printf '#[path = "../billing/mod.rs"]\nmod m;\n' > src/auth/lib.rs
printf '{"name": "p", "scripts": {"test": "%s", "pretest": "%s", "prepare": "%s"}}\n' "$evil" "$evil" "$evil" > src/auth/pkg/package.json
printf 'all test:\n\t%s\n' "$evil" > src/auth/pkg/Makefile
echo "s/a/b/w /workspace/src/billing/pay.ts" > src/auth/w.sed
echo 'BEGIN { print "x" > "/workspace/src/billing/pay.ts" }' > src/auth/w.awk
printf 'src/billing/pay.ts\n' > src/auth/names
printf 'src/billing/pay.ts\0' > src/auth/names0
printf 'output = src/billing/pay.ts\n' > src/auth/curl.conf
printf '1c\nevil\n.\nw src/billing/pay.ts\nq\n' > src/auth/ed.txt
cat > src/auth/link.patch <<'P'
diff --git a/src/auth/l b/src/auth/l
new file mode 120000
--- /dev/null
+++ b/src/auth/l
@@ -0,0 +1 @@
+../billing/pay.ts
\ No newline at end of file
P
cat > src/auth/out.patch <<'P'
--- a/src/billing/pay.ts
+++ b/src/billing/pay.ts
@@ -1 +1 @@
-export const pay = () => 2;
+evil
P
cat > src/auth/readme.patch <<'P'
--- README.md
+++ README.md
@@ -1 +1 @@
-# Fixture
+evil
P
work=$(mktemp -d)
ln -s ../billing "$work/l"
tar -cf src/auth/a.tar -C "$work" l
rm "$work/l"
mkdir "$work/l"
echo evil > "$work/l/pay.ts"
tar -cf src/auth/b.tar -C "$work" l/pay.ts
tar -cPf src/auth/abs.tar --transform 's,.*,/workspace/src/billing/pay.ts,' "$work/l/pay.ts"
tar -cPf src/auth/up.tar --transform 's,.*,../billing/pay.ts,' "$work/l/pay.ts"
rm -r "$work"
printf 'int main(){return 0;}\n' > src/auth/m.c
printf 'echo hello | tee src/billing/pay.ts\n' > src/auth/script.txt
