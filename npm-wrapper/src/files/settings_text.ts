// Reads the text of a person's settings as the gate does: UTF-8, and JSON with comments for when the gate cannot be asked.

/** Text without a byte order mark. Throws if it is not UTF-8. */
export function decodeSettings(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
}

/** A string, or a comment. What is not closed extends to the end, so that no text takes longer than its length. */
const STRING_OR_COMMENT = /"(?:[^"\\]|\\[\s\S]?)*(?:"|$)|\/\/[^\r\n]*|\/\*[\s\S]*?(?:\*\/|$)/g;

/** A string, or a comma before the end of a list or an object. */
const STRING_OR_TRAILING_COMMA = /"(?:[^"\\]|\\[\s\S]?)*(?:"|$)|,(?=\s*[}\]])/g;

/** Parses JSON that may have comments and trailing commas, as people may write settings. */
export function parseSettings(text: string): unknown {
  const isComment = (found: string) => found.startsWith('//') || (found.length >= 4 && found.endsWith('*/'));
  const plain = text.replace(STRING_OR_COMMENT, (found) => (!found.startsWith('"') && isComment(found) ? ' ' : found));
  // A comma without an item before it stays, and is an error.
  const isAfterItem = (comma: number) => {
    let before = comma - 1;
    while (before >= 0 && ' \t\r\n'.includes(plain.charAt(before))) before -= 1;
    return before >= 0 && !'[{,'.includes(plain.charAt(before));
  };
  return JSON.parse(
    plain.replace(STRING_OR_TRAILING_COMMA, (found, at: number) => (found === ',' && isAfterItem(at) ? '' : found)),
  );
}
