# Links and hard links that lead out of the scope, as they may have been there before.
set -e
umask 022
ln -s ../billing src/auth/out
ln -s ../billing/pay.ts src/auth/pay.lnk
ln -s ../../README.md src/auth/sub/readme.lnk
ln -s /home/user src/auth/home
ln -s ../billing/new.ts src/auth/dangling
ln src/billing/tax.ts src/auth/hl3
ln src/billing/tax.ts src/auth/q/hl
ln README.md src/auth/sub/hl.md
mkdir -p src/auth/tpl/q src/auth/tpl/sub
echo 'over it' > src/auth/tpl/pay.lnk
echo 'over it' > src/auth/tpl/hl3
echo 'over it' > src/auth/tpl/q/hl
echo 'over it' > src/auth/tpl/sub/hl.md
