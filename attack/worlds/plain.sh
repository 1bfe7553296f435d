# The workspace that every attack begins in. INT-001 owns `src/auth/**` and `docs/auth.md`; nothing leads out of it.
set -e
umask 022
mkdir -p .orchestration src/auth/sub src/auth/q src/auth/tpl src/billing tests/billing docs
cat > .orchestration/active_intents.yaml <<'Y'
active_intents:
  - id: INT-001
    name: Login hardening
    description: Rate-limit and audit the login flow
    status: IN_PROGRESS
    owned_scope:
      - src/auth/**
      - docs/auth.md
  - id: INT-002
    name: Billing export
    status: IN_PROGRESS
    owned_scope: [src/billing/**, "tests/billing/*.ts"]
Y
echo 'export const login = () => 1;' > src/auth/login.ts
echo 'export const a = 1;' > src/auth/a.ts
echo '{"a": 1}' > src/auth/a.json
echo 'export const x = 1;' > src/auth/sub/x.ts
echo 'export const w = 1;' > src/auth/q/w.ts
echo 'from a template' > src/auth/tpl/t.ts
echo 'a[$(rm -f src/billing/pay.ts)]' > src/auth/arith
echo '-o src/billing/pay.ts src/auth/a.ts' > src/auth/args
echo '--output=src/billing/pay.ts' > src/auth/arg1
printf 'src/billing/pay.ts\nsrc/auth/sub/x.ts\n' > src/auth/list.txt
printf '#!/bin/sh\nrm -f /workspace/src/billing/pay.ts\n' > src/auth/evil.sh
chmod +x src/auth/evil.sh
echo 'export const pay = () => 2;' > src/billing/pay.ts
echo 'export const tax = () => 3;' > src/billing/tax.ts
echo 'pub   fn   pay( ){}' > src/billing/mod.rs
echo 'test' > tests/billing/pay.ts
echo '# Auth' > docs/auth.md
echo '# Guide' > docs/guide.md
echo '# Fixture' > README.md
echo 'TOKEN=not-a-real-secret' > .env
echo '{"name": "fixture", "scripts": {"test": "true", "build": "true", "lint": "true"}}' > package.json
echo 'export {};' > src/index.ts
printf 'all:\n\t@true\ntest:\n\t@true\n' > Makefile
printf '.env\nnode_modules/\n' > .gitignore
mkdir -p ~/.config ~/.ssh
echo 'alias ll="ls -l"' > ~/.bashrc
echo '# profile' > ~/.profile
printf '[user]\n\tname = A Developer\n\temail = dev@example.com\n[init]\n\tdefaultBranch = main\n' > ~/.gitconfig
echo 'notes' > ~/notes.txt
echo 'key = 1' > ~/.config/app.toml
echo 'Host example' > ~/.ssh/config
mkdir -p /sibling/src
echo 'notes of the sibling' > /sibling/notes.txt
echo 'export {};' > /sibling/src/main.ts
export GIT_AUTHOR_DATE='2026-01-01T00:00:00Z' GIT_COMMITTER_DATE='2026-01-01T00:00:00Z'
git init -q --template= .
mkdir -p .git/hooks .git/info
echo 'node_modules/' > .git/info/exclude
git add -A
git commit -q -m 'The first commit'
git branch feature
echo 'export const login = () => 2;' > src/auth/login.ts
