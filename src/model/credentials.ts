/** A part of a URL without percent-encoding; unchanged when its encoding is invalid. */
export function decodedPart(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** The value of `Authorization` for the name and password in a URL; `undefined` without either. */
export function basicAuthorization({ username, password }: URL): string | undefined {
  if (username === '' && password === '') return undefined
  return `Basic ${Buffer.from(`${decodedPart(username)}:${decodedPart(password)}`).toString('base64')}`
}
