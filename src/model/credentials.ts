/** A part of a URL without percent-encoding; unchanged when its encoding is invalid. */
export function decodedPart(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** The name and password in a value of `Authorization`, as far as they are there; none in that of another scheme. */
export function basicParts(authorization: string): string[] {
  const [, encoded] = /^Basic\s+(.+)$/i.exec(authorization) ?? []
  if (encoded === undefined) return []
  const text = Buffer.from(encoded, 'base64').toString()
  const end = text.indexOf(':')
  return end < 0 ? [text] : [text.slice(0, end), text.slice(end + 1)]
}

/** The value of `Authorization` for the name and password in a URL; `undefined` without either. */
export function basicAuthorization({ username, password }: URL): string | undefined {
  if (username === '' && password === '') return undefined
  return `Basic ${Buffer.from(`${decodedPart(username)}:${decodedPart(password)}`).toString('base64')}`
}
