/** Shorter ones would black out ordinary words; a secret is longer. */
const secretCharsMin = 6

/** Takes known secrets out of text, in the forms in which they occur there: as they are, in JSON, in a URL. */
export class Redactor {
  readonly #forms = new Set<string>()

  /** Makes secrets known; from now on no text passes with them. */
  add(secrets: readonly string[]): void {
    for (const secret of secrets) {
      if (secret.length < secretCharsMin) continue
      this.#forms.add(secret)
      this.#forms.add(JSON.stringify(secret).slice(1, -1))
      this.#forms.add(encodeURIComponent(secret))
    }
  }

  redact(text: string): string {
    let clean = text
    for (const form of this.#forms) if (clean.includes(form)) clean = clean.replaceAll(form, '[redacted]')
    return clean
  }
}
