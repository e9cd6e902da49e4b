/**
 * Normalises a protocol id: each character that is not an ASCII letter, digit, `-` or `_` becomes one `-`. Upper case
 * is kept, as the interface only recommends lower case. Idempotent.
 */
export function slug(id: string): string {
  return id.replace(/[^A-Za-z0-9_-]/gu, '-')
}
