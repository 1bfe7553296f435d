//! What keeps running after the command, and what reads text that nobody has seen.

use super::super::{footprint, footprint_of_words};
use super::{check, workspace};
use crate::effects::Persistence::{self, Detached, Ends, Interactive};

#[track_caller]
fn check_persistence(rows: &[(&str, Persistence)]) {
    let world = workspace();
    let mut wrong = Vec::new();
    for (command, expected) in rows {
        let found = footprint(command, "", &*world).persistence;
        if found != *expected {
            wrong.push(format!("{command}\n  expected {expected:?}\n  found    {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {} rows differ\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

#[test]
fn what_outlasts_the_command() {
    check_persistence(&[
        ("npm run dev &", Detached),
        ("npm run dev & sleep 3; curl -s localhost:3000", Detached),
        ("(npm run dev &)", Detached),
        ("if true; then make & fi", Detached),
        ("sh -c 'make &'", Detached),
        ("env CI=1 sh -c 'make &'", Detached),
        ("nohup make", Detached),
        ("nice -n 5 nohup make &", Detached),
        ("setsid make", Detached),
        ("make & disown", Detached),
        ("echo make | at now", Detached),
        ("tmux new-session -d make", Detached),
        ("screen -dm make", Detached),
        ("systemd-run --user make", Detached),
        ("pm2 start app.js", Detached),
        ("docker run -d -v .:/w x", Detached),
        ("docker run -itd x", Detached),
        ("docker compose up --detach", Detached),
        ("docker start x", Detached),
        ("some-server --daemon", Detached),
        ("f() { make & }; f", Detached),
        ("x=(1 2); make &", Detached),
        ("xargs nohup make", Detached),
    ]);
    check_persistence(&[
        ("npm test", Ends),
        ("npm run a & npm run b & wait", Ends),
        ("npm run a & wait && echo done", Ends),
        ("npm run a & exit 0; wait", Detached),
        ("npm run a & wait %1", Detached),
        ("npm run a & wait > /dev/null", Detached),
        ("make && npm test || echo no", Ends),
        ("npm test > src/auth/log 2>&1", Ends),
        ("npm test &> src/auth/log", Ends),
        ("x=(1 2); make 2>&1 && echo a\\&b", Ends),
        ("docker run --rm -it x", Ends),
        ("tmux ls; npm test", Ends),
        ("sed -i s/a/b/ src/auth/a.ts", Ends),
        ("echo '&' > src/auth/a.ts", Ends),
    ]);
}

#[test]
fn what_reads_text_that_is_typed_later() {
    check_persistence(&[
        ("bash", Interactive),
        ("bash -l", Interactive),
        ("sh -i", Interactive),
        ("exec bash", Interactive),
        ("env bash", Interactive),
        ("python3", Interactive),
        ("python3 -", Interactive),
        ("python3 -i", Interactive),
        ("python3 -i src/auth/a.py", Interactive),
        ("python3 -q", Interactive),
        ("node", Interactive),
        ("node -i", Interactive),
        ("node --interactive", Interactive),
        ("psql", Interactive),
        ("psql -h localhost mydb", Interactive),
        ("mysql -u root", Interactive),
        ("sqlite3 src/auth/x.db", Interactive),
        ("mongosh mongodb://localhost", Interactive),
        ("irb", Interactive),
        ("ghci", Interactive),
        ("R", Interactive),
        ("bash | cat", Interactive),
    ]);
    check_persistence(&[
        ("bash -c 'ls'", Ends),
        ("bash src/auth/x.sh", Ends),
        ("python3 src/auth/a.py", Ends),
        ("echo 1 | python3", Ends),
        ("python3 < src/auth/a.py", Ends),
        ("psql -c 'select 1'", Ends),
        ("sqlite3 src/auth/x.db 'select 1'", Ends),
        ("echo ls | bash", Ends),
    ]);
}

#[test]
fn nobody_has_seen_what_they_run() {
    check(&[
        ("bash", "?"),
        ("sh", "?"),
        ("sh -i", "?"),
        ("bash -i", "?"),
        ("bash -l", "?"),
        ("zsh", "?"),
        ("python3", "?"),
        ("python3 -", "?"),
        ("python3 -i", "?"),
        ("python3 -i src/auth/a.py", "x:src/auth/a.py ?"),
        ("python3 -im pytest", "x:. ?"),
        ("node", "?"),
        ("node -i", "?"),
        ("ruby", "?"),
        ("perl", "?"),
        ("php", "?"),
        ("lua", "?"),
        ("deno", "x:. ?"),
        ("irb", "x:. ?"),
        ("jshell", "x:. ?"),
        ("ghci", "x:. ?"),
        ("psql", "x:. ?"),
        ("psql -h localhost mydb", "x:. ?"),
        ("psql mydb < src/auth/dump.sql", "x:. ?"),
        ("cat src/auth/dump.sql | psql mydb", "x:. ?"),
        ("psql mydb <<< 'select 1'", "x:."),
        ("psql mydb <<< '\\! rm x'", "x:. ?"),
        ("psql -l", ""),
        ("psql mydb -c 'select 1'", "x:."),
        ("mysql -u root", "x:. ?"),
        ("mysql -u root -e 'select 1'", "x:."),
        ("mysql < src/auth/dump.sql", "x:. ?"),
        ("sqlite3 src/auth/x.db", "x:. w:src/auth/x.db ?"),
        ("sqlite3 src/auth/x.db < src/auth/dump.sql", "x:. w:src/auth/x.db ?"),
        ("sqlite3 src/auth/x.db <<< 'select 1;'", "x:. w:src/auth/x.db"),
        ("sqlite3 src/auth/x.db 'select 1'", "x:. w:src/auth/x.db"),
        ("mongosh", "x:. ?"),
        ("mongosh --eval 'db.x.find()'", "x:. ?"),
        ("mongosh src/auth/x.js", "x:. x:src/auth/x.js"),
        ("kotlin src/auth/x.jar", "x:."),
        ("vim src/auth/a.ts", "w:src/auth/a.ts ?"),
    ]);
}

#[test]
fn words_without_a_shell_between() {
    let world = workspace();
    for (words, expected) in [(&["bash"][..], Interactive), (&["bash", "-lc", "make &"], Detached), (&["make", "&"], Ends)] {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        assert_eq!(footprint_of_words(&words, "", &*world).persistence, expected, "{words:?}");
    }
}
