/** The first of the protected files that a text names. */
export function protectedIn(text, list) {
  const files = list
    .split(',')
    .map((file) => file.trim())
    .filter((file) => file !== '');
  return files.find((file) => text.includes(file));
}
