import type { AnswerHeaders } from '../model/answer-times.ts'
import { shownHost } from '../model/host.ts'
import { type PeerText, shortened, titleOf } from '../model/text.ts'

/** Characters of a title that are shown. */
const titleCharsMax = 80

/**
 * Description of an answer that is not the service's, for a person: where a redirect leads, the type of its body, the title of a
 * page. Without a path or a query, which may hold secrets. Pure.
 *
 * @returns `undefined` when there is nothing to say about it
 * @param text its body; `undefined` when that could not be read
 * @param url address that was asked
 */
export function describedAnswer(
  {
    status,
    headers,
    text,
  }: { readonly status: number; readonly headers: AnswerHeaders; readonly text: PeerText | undefined },
  url: string,
): string | undefined {
  const location = headerOf(headers, 'location')
  if (status >= 300 && status < 400) {
    if (location === '' || !URL.canParse(location, url)) return undefined
    const to = new URL(location, url)
    return to.host === new URL(url).host ? `redirects within ${shownHost(to)}` : `redirects to ${shownHost(to)}`
  }
  const encoding = headerOf(headers, 'content-encoding')
  const type = headerOf(headers, 'content-type').split(';')[0] || undefined
  if (text === undefined) return encoding === '' ? type : `a body that is not ${encoding}, as its content-encoding says`
  if (text.trim() === '') return undefined
  const title = titleOf(text).replace(/[\p{C}\s]+/gu, ' ')
  const shown = shortened(title.trim(), titleCharsMax)
  return shown === '' ? type : `${type ?? 'a page'}, "${shown}"`
}

function headerOf(headers: AnswerHeaders, name: string): string {
  const value = headers[name]
  const text = typeof value === 'string' ? value : (value?.[0] ?? '')
  return text
    .replace(/[^\x20-\x7e]/g, '?')
    .slice(0, 200)
    .trim()
}
