/**
 * A protocol id as this service keeps it: each character that is no ASCII letter, digit, `-` or `_` becomes one `-`.
 * Upper case is kept: the interface only recommends lower case. A slug is its own slug.
 */
export function slug(id: string): string {
  return id.replace(/[^A-Za-z0-9_-]/gu, '-')
}
