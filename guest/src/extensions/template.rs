//! The template for a new extension.

use super::{manifest, path};
use crate::ports::{Expectation, FileFault, Ports, Root};

/// The files of a new extension.
pub fn files(name: &str) -> Result<Vec<(String, String)>, String> {
    if !path::is_name(name) {
        return Err(format!(
            "an extension cannot be named `{}`; use 1 to 64 letters, digits, `_`, `-` and `.`, beginning with a letter or a digit",
            name.chars().filter(|c| !c.is_control()).take(64).collect::<String>()
        ));
    }
    let manifest = format!(
        r#"{{
  "name": "{name}",
  "version": "0.1.0",
  "description": "What it is for",
  "mcpServers": {{}},
  "hooks": [
    {{ "name": "note", "event": "after_tool", "command": ["sh", "hooks/note.sh"] }}
  ],
  "settings": [
    {{ "name": "greeting", "description": "What the hook says", "default": "done", "envVar": "GREETING" }}
  ],
  "skills": [
    {{
      "name": "explain",
      "description": "Explains a file to somebody who is new here",
      "prompt": "Explain {{{{file}}}} to somebody who is new here.",
      "parameters": [{{ "name": "file", "description": "the file", "required": true }}]
    }}
  ]
}}
"#
    );
    let script = "# Reads the event on standard input; what it prints is the answer.\n\
                  printf '{\"systemMessage\": \"%s\"}' \"$GREETING\"\n";
    Ok(vec![(manifest::FILE.to_owned(), manifest), ("hooks/note.sh".to_owned(), script.to_owned())])
}

/// Writes a new extension among the user's or the workspace's. Returns the folder's path as shown to people.
pub fn write(name: &str, root: Root, ports: &Ports) -> Result<String, String> {
    let files = files(name)?;
    let (folder, shown) = match root {
        Root::Home => (".tollgate/extensions", "~/.tollgate/extensions"),
        _ => (".tollgate/extensions", ".tollgate/extensions"),
    };
    for (file, text) in files {
        let path = format!("{folder}/{name}/{file}");
        ports.records.replace(root, &path, text.as_bytes(), Expectation::Absent).map_err(|fault| match fault {
            FileFault::Exists => format!("`{shown}/{name}/{file}` already exists; choose another name"),
            fault => format!("`{shown}/{name}/{file}` cannot be written: {fault}"),
        })?;
    }
    Ok(format!("{shown}/{name}"))
}
