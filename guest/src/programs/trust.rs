//! Whether a program would run its hooks: what it asks a person for first, read from where it keeps the answers.
