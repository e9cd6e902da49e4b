/** Shorter ones would black out ordinary words; a secret is longer. */
const secretCharsMin = 6

/** Takes known secrets out of text, in the forms in which they occur there: as they are, in JSON, in a URL. */
export class Redactor {
  /** Longest first, so that a secret that begins like another does not leave its end. */
  #forms: readonly string[] = []

  /** Makes secrets known; from now on no text passes with them. */
  add(secrets: readonly string[]): void {
    const forms = secrets
      .filter(({ length }) => length >= secretCharsMin)
      .flatMap(secret => [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)])
    if (forms.every(form => this.#forms.includes(form))) return
    this.#forms = [...new Set([...this.#forms, ...forms])].sort((a, b) => b.length - a.length)
  }

  redact(text: string): string {
    let clean = text
    for (const form of this.#forms) if (clean.includes(form)) clean = clean.replaceAll(form, '[redacted]')
    return clean
  }
}
