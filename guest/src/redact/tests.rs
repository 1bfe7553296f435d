use super::*;

/// Test rows have `¦` in their tokens, so that they are not mistaken for real tokens.
fn row(text: &str) -> String {
    text.replace('¦', "")
}

#[test]
fn secret_ranges() {
    for (text, expected) in [
        // By shape.
        ("id AKIA¦IOSFODNN7EXAMPLE.", "id [REDACTED]."),
        ("ASIA¦IOSFODNN7EXAMPLE", "[REDACTED]"),
        ("git clone with ghp_¦abcdefghijklmnopqrstuvwxyz0123456789!", "git clone with [REDACTED]!"),
        ("ghs_¦abcdefghijklmnopqrstuvwxyz0123456789", "[REDACTED]"),
        ("(github_pat_¦11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz)", "([REDACTED])"),
        ("glpat-¦abcdefghij0123456789", "[REDACTED]"),
        ("xoxb-¦1234567890-abcdefghij", "[REDACTED]"),
        ("sk-¦proj-abcdefghij0123456789", "[REDACTED]"),
        ("sk-¦ant-api03-abcdefghij_0123456789", "[REDACTED]"),
        ("key AIza¦SyA1234567890abcdefghijklmnopqrstuv", "key [REDACTED]"),
        ("sk_¦live_abcdefghij0123456789 rk_¦live_abcdefghij0123456789", "[REDACTED] [REDACTED]"),
        ("//registry/:npm_¦abcdefghijklmnopqrstuvwxyz0123456789", "//registry/:[REDACTED]"),
        ("eyJ¦hbGciOiJIUzI1NiJ9.eyJ¦zdWIiOiIxIn0.c2lnbmF0dXJl, ok", "[REDACTED], ok"),
        ("-----BEGIN RSA PRIVATE ¦KEY-----\nMIIE\nAAAA\n-----END RSA PRIVATE KEY-----\nrest", "[REDACTED]\nrest"),
        ("a\n-----BEGIN OPENSSH PRIVATE ¦KEY-----\nb3Bl\nMIIE", "a\n[REDACTED]"),
        ("-----BEGIN PRIVATE ¦KEY-----\nMIIE\n-----END PRI", "[REDACTED]"),
        ("private_key: '-----BEGIN PRIVATE ¦KEY-----\nMI\n-----END PRIVATE KEY-----'", "private_key: '[REDACTED]'"),
        // After escapes and colour codes that end in a letter.
        (r"out\nghp_¦abcdefghijklmnopqrstuvwxyz0123456789\n", r"out\n[REDACTED]\n"),
        (r"out\neyJ¦hbGciOiJIUzI1NiJ9.eyJ¦zdWIiOiIxIn0.c2ln", r"out\n[REDACTED]"),
        ("\x1b[1;32msk-¦abcdefghij0123456789\x1b[0m", "\x1b[1;32m[REDACTED]\x1b[0m"),
        ("q=%20sk-¦abcdefghij0123456789", "q=%20[REDACTED]"),
        // By scheme.
        ("curl -H 'Authorization: Bearer abc123def' x", "curl -H 'Authorization: Bearer [REDACTED]' x"),
        ("Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic [REDACTED]"),
        ("authorization: token abcdefghi", "authorization: token [REDACTED]"),
        (r#"{"Authorization": "Bearer abcdefghi"}"#, r#"{"Authorization": "Bearer [REDACTED]"}"#),
        ("sent Bearer a1B2c3D4e5F6 to it", "sent Bearer [REDACTED] to it"),
        ("Basic dXNlcjpwYXNzd29yZA==", "Basic [REDACTED]"),
        // In URLs.
        ("https://user:hunter2@host/x", "https://user:[REDACTED]@host/x"),
        ("postgres://u:p@h:5432/db?x=1", "postgres://u:[REDACTED]@h:5432/db?x=1"),
        ("redis://:p@ss@[::1]:6379", "redis://:[REDACTED]@[::1]:6379"),
        ("https://ghp_¦abcdefghijklmnopqrstuvwxyz0123456789:x@h", "https://[REDACTED]:[REDACTED]@h"),
        // By label.
        ("password=hunter2", "password=[REDACTED]"),
        ("PASSWORD = hunter2 # note", "PASSWORD = [REDACTED] # note"),
        ("DB_PASSWORD=hunter2\nDB_USER=bob", "DB_PASSWORD=[REDACTED]\nDB_USER=bob"),
        ("SMTP_PASS=hunter2 _auth=aGVsbG8=", "SMTP_PASS=[REDACTED] _auth=[REDACTED]"),
        ("DB_PASSWORD_PROD=hunter2 TOKEN_2=hunter2", "DB_PASSWORD_PROD=[REDACTED] TOKEN_2=[REDACTED]"),
        ("api-key: abcdef1", "api-key: [REDACTED]"),
        ("apiKey: 'a'", "apiKey: '[REDACTED]'"),
        (r#"{"client_secret":"x y","n":1}"#, r#"{"client_secret":"[REDACTED]","n":1}"#),
        (r#"{"out":"{\"access_token\": \"a\\\"b\", \"n\":1}"}"#, r#"{"out":"{\"access_token\": \"[REDACTED]\", \"n\":1}"}"#),
        (r#"secret: "a\"b" c"#, r#"secret: "[REDACTED]" c"#),
        (r"out: password=hunter2\nuser=bob", r"out: password=[REDACTED]\nuser=bob"),
        ("env['SECRET_KEY'] = b'abc'", "env['SECRET_KEY'] = b'[REDACTED]'"),
        ("token := \"abc\"; x", "token := \"[REDACTED]\"; x"),
        ("'passwd' => 'abc'", "'passwd' => '[REDACTED]'"),
        ("mysql --password hunter2 --user bob", "mysql --password [REDACTED] --user bob"),
        ("tool --api-key=hunter2 run", "tool --api-key=[REDACTED] run"),
        ("tool --token 'a b' run", "tool --token '[REDACTED]' run"),
        ("https://h/x?access_token=abcdef&y=1", "https://h/x?access_token=[REDACTED]&y=1"),
        ("Server=h;Password=a(b)c1;User=x", "Server=h;Password=[REDACTED];User=x"),
        ("AWS_SECRET_ACCESS_KEY=/aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX2yZ3", "AWS_SECRET_ACCESS_KEY=[REDACTED]"),
        ("password: hunter", "password: [REDACTED]"),
        ("- password: hunter", "- password: [REDACTED]"),
        ("your password: hunter2 now", "your password: [REDACTED] now"),
        ("pwd=12345678", "pwd=[REDACTED]"),
        ("password: pässwörd, ü", "password: [REDACTED], ü"),
        ("pin token=$AKIA¦IOSFODNN7EXAMPLE", "pin token=[REDACTED]"),
        ("secret='unclosed\nnext", "secret='[REDACTED]\nnext"),
    ] {
        assert_eq!(redact(&row(text)), expected, "{text}");
    }
}

#[test]
fn spared() {
    for text in [
        "",
        "the token was missing",
        "unexpected token: }",
        "Unexpected token: identifier",
        "unexpected token: punctuation",
        "invalid token: signature has expired",
        "password: must be longer",
        "Password: required.",
        "password is required",
        "secret: none, token: null, pwd: ''",
        "\"password\": true, \"token\": \"\"",
        "password=short",
        // The last part of a label decides.
        "token_count: 12345678",
        "max_tokens=12345678",
        "\"token_type\": \"something\"",
        "password_file=secrets/db.txt and tokenizer: something",
        "secretName: database",
        "bypass: everything",
        // References and code.
        "password=$DB_PASSWORD token=${TOKEN} secret=<your-secret> api_key={{api_key}}",
        "password: ******** token: xxxxxxxx",
        "token = process.env.TOKEN;",
        "const token = getToken(user);",
        "token: string; token: Option<String>, secret: Secret::new()",
        "password=$(pass show db)",
        "apiKey: apiKey, \"password\": \"Password\"",
        "token::verify_signature",
        "PWD=/home/user/project",
        "secret: ./config/secret.yaml",
        "the --token option, the --password argument, --token --verbose",
        // Names of schemes in prose.
        "Basic authentication required, bearer of bad news, Bearer authentication",
        "Authorization: Bearer $TOKEN",
        "a Basic AuthenticationProvider, Basic HTTP/1.1",
        // URLs.
        "http://localhost:8080/a@b https://user@host ssh://git@host:22/x http://h:80?q=a@b",
        "https://$USER:$PASS@host https://u:${PASS}@host",
        // Hashes and names.
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "commit a2ae3a1f0ece9f0899dbab6ae27591e8843ba866 by bob",
        "id 123e4567-e89b-12d3-a456-426614174000",
        "src/auth/token.rs:12: /etc/passwd",
        "task-management-of-everything-2024 sk-learn sk-toggleable-content-wrapper",
        "ghp_short AKIA eyJ.a.b npm_config_registry AIzaX",
        "-----BEGIN PUBLIC KEY-----\nMIIE\n-----END PUBLIC KEY-----",
        "schlüssel: größe",
    ] {
        assert!(matches!(redact(text), Cow::Borrowed(same) if same == text), "{text} -> {}", redact(text));
    }
}

#[test]
fn planted_secrets_never_survive() {
    let mut seed = 0x1545_f491_4f6c_dd1f_u64;
    let mut random = |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed >> 20) as usize % below
    };
    let pieces = [
        "the ",
        "token",
        "token: ",
        "password=",
        "\"secret\": \"",
        "\"",
        "'",
        " ",
        "\n",
        "\\n",
        "=",
        ":",
        ", ",
        "://",
        "user:",
        "@host",
        "/",
        "--api-key ",
        "Bearer ",
        "Bearer/",
        "Basic ",
        "identifier",
        "$",
        "${",
        "}",
        "<",
        "(",
        ")",
        "[",
        "]",
        "-",
        "_",
        "é",
        "Aa1",
        "x",
        "\\",
        "\\\"",
        "eyJ",
        "sk-",
        "AKIA",
        "[REDACTED]",
        "-----BEGIN PRIVATE KEY-----",
        "-----END PRIVATE KEY-----",
        "\x1b[0m",
        "%3D",
        ".",
        "getToken",
        "AKIAABCDEFGHIJKLMNOP",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln",
        "https://u:p@h",
        "DB_PASSWORD",
        "abcdef",
        "a1B2c3D4e5F6",
    ];
    let around = [" ", "\n", "\"", "'", "\\n", "(", ",", "\x1b[31m", "%20", "é", "/", "\t"];
    for round in 0..10_000 {
        let mut any = |most: usize| (0..random(most)).map(|_| pieces[random(pieces.len())]).collect::<String>();
        let (before, after) = (any(8), any(8));
        let body: String = (0..36).map(|_| b"abcdefghijkmnpqrstuvwxyzABCDEFGH23456789"[random(40)] as char).collect();
        let upper: String = body.to_ascii_uppercase();
        let (planted, must_go) = match random(7) {
            0 => (format!("ghp_{body}"), &body),
            1 => (format!("AKIA{upper}"), &upper),
            2 => (format!("sk-ant-7{body}"), &body),
            3 => (format!("eyJhbGciOiJI.{body}.c2ln"), &body),
            4 => (format!("password={body}"), &body),
            5 => (format!("https://user:{body}@host"), &body),
            _ => (format!("-----BEGIN EC PRIVATE KEY-----\n{body}\n-----END EC PRIVATE KEY-----"), &body),
        };
        let (left, right) = (around[random(around.len())], around[random(around.len())]);
        let text = format!("{before}{left}{planted}{right}{after}");
        let once = redact(&text);
        assert!(!once.contains(must_go.as_str()), "round {round}: {text:?} -> {once:?}");
        assert_eq!(redact(&once), once, "round {round}: {text:?}");
    }
}

#[test]
fn hostile_text_takes_linear_time() {
    let timed = |piece: &str| {
        let text = piece.repeat(200_000 / piece.len());
        let started = std::time::Instant::now();
        redact(&text);
        started.elapsed()
    };
    // A quadratic scan would take hundreds of times as long as prose.
    let limit = timed("plain words ") * 30;
    for piece in [
        "token=",
        "token=a ",
        "token: a ",
        "password=<",
        "password=a(",
        "--token ",
        "token\"",
        "eyJaaaaaaaaaa.",
        "sk-",
        "AKIA",
        "://a:",
        "://a:b@",
        "Bearer ",
        "Bearer/",
        "Bearer a=",
        "-----BEGIN ",
        "-----BEGIN PRIVATE KEY-----",
        "-",
        "%3D",
        "\x1b[0m",
        "\\",
        "a",
    ] {
        let took = timed(piece);
        assert!(took < limit, "{piece:?} took {took:?}");
    }
}

fn secrets(patterns: &[&str]) -> Secrets {
    let secrets = Secrets::default();
    secrets.set_patterns(patterns.iter().map(|text| Pattern::compile(text).unwrap()).collect());
    secrets
}

/// A pseudo-random sequence of `a` and `b`.
fn shuffled(length: usize) -> String {
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let letter = |_| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        if seed >> 40 & 1 == 0 { 'a' } else { 'b' }
    };
    (0..length).map(letter).collect()
}

#[test]
fn what_takes_too_long_to_search_is_withheld() {
    let million = "a".repeat(1_000_000);
    let line = format!("{}\n", "a".repeat(5_000)).repeat(200);
    let (long, short) = (shuffled(1_000_000), shuffled(1_000));
    for (patterns, text, expected) in [
        // Every position begins a match, each as long as the text.
        (&["(.*a){20}"; 6][..], &million, WITHHELD),
        (&["(.*a){20}"; 6], &line, WITHHELD),
        // As many states as there are 21-bit numbers.
        (&["(a|b)*a(a|b){20}c"], &long, WITHHELD),
        (&["(a|b)*a(a|b){20}c"], &short, &short),
        (&["a.{0,500}b"; 6], &long, WITHHELD),
        // Slow for backtracking engines, but not here.
        (&["(a+)+b", "(a|aa)*c", "(a*)*b"], &million, &million),
        (&["(a+)+", "(a|aa)*", "(a*)*"], &million, MARK),
        (&["(.*a){20}"], &"a".repeat(10_000), MARK),
    ] {
        let shown = secrets(patterns).redact(text).into_owned();
        assert!(shown == expected, "{patterns:?}: {} bytes, {:.40}", shown.len(), shown);
    }
}

#[test]
fn the_texts_of_a_value_share_a_budget() {
    let secrets = secrets(&["(a|b)*a(a|b){20}c"; 20]);
    let text = shuffled(50_000);
    let mut value = serde_json::json!({"a": [text, text], "b": "ghp_0123456789abcdef0123456789"});
    secrets.redact_value(&mut value, &[]);
    assert_eq!(value, serde_json::json!({"a": [WITHHELD, WITHHELD], "b": WITHHELD}));
}

#[test]
fn what_one_text_cost_does_not_count_for_the_next() {
    let secrets = secrets(&["(a|b)*a(a|b){20}c"]);
    assert_eq!(secrets.redact(&shuffled(1_000_000)), WITHHELD);
    assert_eq!(secrets.redact("a word"), "a word");
}
