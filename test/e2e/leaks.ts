import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Something that leaves the process. */
export interface Output {
  readonly where: string
  readonly text: string
}

/** Where secrets were found, each with the words around it. */
export function leaksIn(outputs: readonly Output[], secrets: Readonly<Record<string, string>>): string[] {
  // A file that is as it was when it was last looked through may be large, such as the ballast.
  const distinct = new Map(outputs.map(({ where, text }) => [text, where]))
  return [...distinct].flatMap(([text, where]) =>
    Object.entries(secrets).flatMap(([name, secret]) =>
      formsOf(secret).flatMap(form => {
        const at = text.indexOf(form)
        return at < 0 ? [] : [`${where}: ${name}: ${text.slice(Math.max(0, at - 60), at + form.length + 20)}`]
      }),
    ),
  )
}

/** Shorter runs of letters may stand in a text by chance. */
const runCharsMin = 8

/**
 * A secret as it is, in JSON, in a URL and in base64 (also as part of a longer text), and each run of letters and digits
 * in it, which is left of it however it is escaped.
 */
function formsOf(secret: string): string[] {
  const runs = secret.split(/[^A-Za-z0-9-]+/).filter(({ length }) => length >= runCharsMin)
  const inBase64 = [0, 1, 2].map(offset => {
    const text = Buffer.from(`${' '.repeat(offset)}${secret}`)
      .toString('base64')
      .replace(/=+$/, '')
    // Parts that the neighbours of the secret decide, too, are left out.
    return text.slice(Math.ceil((offset * 4) / 3), -2)
  })
  return [...new Set([secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret), ...runs, ...inBase64])]
}

/** Every file below a folder, byte for byte. */
export function filesIn(folder: string, when: string): Output[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => {
      const file = join(entry.parentPath, entry.name)
      return { where: `${file} ${when}`, text: readFileSync(file).toString('latin1') }
    })
}

/** Every page of the status server. */
export async function pagesOf(url: string, when: string): Promise<Output[]> {
  const paths = ['/', '/livez', '/readyz', '/metrics', '/status.json', '/nothing-here']
  return Promise.all(
    paths.map(async path => {
      const answer = await fetch(`${url}${path}`)
      return { where: `page ${path} ${when}`, text: `${JSON.stringify([...answer.headers])} ${await answer.text()}` }
    }),
  )
}
