import { placeName, type ReceiverConfig } from '../../config/config.ts'
import { readSecret, resolvePostAddress } from '../../config/secret.ts'
import type { Post, PostAnswer } from '../../edge/post-message.ts'
import { secretPartsOf } from '../../model/host.ts'
import { parsedJson, valueAt } from '../../model/json.ts'
import { retryAfterMsMax } from '../../model/limits.ts'
import { type PeerText, peerText, shortened } from '../../model/text.ts'
import { judgeStatus, type ReportVerdict } from '../send-report.ts'
import type { Notice } from './incidents.ts'

/** A receiver of notices. */
export interface NoticeReceiver {
  /** Its kind, and where its secret is kept. Equal receivers have equal names. */
  readonly name: string
  /** The request for a notice. Reads secrets each time. @throws Fault when one cannot be used */
  readonly post: (notice: Notice) => Post
  readonly judge: (answer: PostAnswer, nowMs: number) => ReportVerdict
}

/** Characters of a receiver's answer that are logged. */
const answerCharsMax = 120

/** Creates a receiver. @param addSecrets called with the secrets it has read */
export function receiverOf(config: ReceiverConfig, addSecrets: (secrets: readonly string[]) => void): NoticeReceiver {
  if (config.kind === 'telegram') return telegramReceiver(config, addSecrets)
  const { kind, url: ref } = config
  const post = (notice: Notice) => {
    const url = resolvePostAddress(ref)
    addSecrets(secretPartsOf(url))
    // Slack reads these characters as marks.
    const escaped = (text: string) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;')
    return jsonPost(url, kind === 'slack' ? { text: escaped(noticeText(notice)) } : webhookBody(notice))
  }
  return { name: `${kind} ${placeName(ref)}`, post, judge: judgeWebhook }
}

/** The words of the first item stand next to the list, for a receiver that shows one. */
function webhookBody({ trouble, state, hour, items }: Notice) {
  return { trouble, state, hour, ...items[0], items }
}

type TelegramConfig = Extract<ReceiverConfig, { readonly kind: 'telegram' }>

function telegramReceiver(
  { token, chat, url }: TelegramConfig,
  addSecrets: (secrets: readonly string[]) => void,
): NoticeReceiver {
  // A group that became a supergroup has another number.
  let movedTo: number | undefined
  const post = (notice: Notice) => {
    const secret = readSecret(token)
    addSecrets([secret, ...secretPartsOf(secret)])
    const chatId = movedTo ?? (chat.kind === 'text' ? chat.text : readSecret(chat))
    const body = { chat_id: chatId, text: noticeText(notice), link_preview_options: { is_disabled: true } }
    return jsonPost(`${url}${botPath(secret)}/sendMessage`, body)
  }
  const judge = (answer: PostAnswer, nowMs: number) => {
    movedTo = movedChat(answer) ?? movedTo
    return judgeTelegram(answer, nowMs)
  }
  const place = chat.kind === 'text' ? chat.text : placeName(chat)
  return { name: `telegram ${placeName(token)} ${place}`, post, judge }
}

/** Path of a bot's methods at the Bot API. @param token secret */
export function botPath(token: string): string {
  return `/bot${encodeURIComponent(token).replaceAll('%3A', ':')}`
}

function jsonPost(url: string, body: unknown): Post {
  return { url, contentType: 'application/json', body: JSON.stringify(body) }
}

/**
 * Judges an answer of a webhook, and of Slack, which says in a word why a message is refused. Only the message itself is
 * refused for good; whatever else is wrong may be put right.
 */
function judgeWebhook(answer: PostAnswer): ReportVerdict {
  const verdict = judgeStatus(answer)
  if (answer.kind === 'unanswered' || verdict.kind === 'accepted') return verdict
  const reason = `it answered ${answer.status}${quotedText(answer.text)}`
  const { notBeforeMs } = answer
  return [400, 413, 422].includes(answer.status)
    ? { kind: 'refused', reason }
    : { kind: 'later', reason, ...(notBeforeMs !== undefined && { notBeforeMs }) }
}

/** Judges an answer of the Bot API, which says in its body what is wrong, and how many seconds to wait. */
export function judgeTelegram(answer: PostAnswer, nowMs: number): ReportVerdict {
  if (answer.kind === 'unanswered') return judgeWebhook(answer)
  const body = parsedJson(answer.text)
  const description = valueAt(body, ['description'])
  const text = typeof description === 'string' ? description : answer.text
  const seconds = valueAt(body, ['parameters', 'retry_after'])
  const movedTo = movedChat(answer)
  const moveRemark = movedTo === undefined ? '' : `; the chat is now ${movedTo}`
  const restMs = typeof seconds === 'number' ? Math.min(Math.max(0, seconds) * 1_000, retryAfterMsMax) : undefined
  const verdict = judgeWebhook({
    ...answer,
    text: peerText(`${shortened(text, answerCharsMax - moveRemark.length - 1)}${moveRemark}`),
  })
  if (verdict.kind === 'refused' && movedTo !== undefined) return { ...verdict, kind: 'later' }
  if (verdict.kind !== 'later' || restMs === undefined) return verdict
  return { ...verdict, notBeforeMs: nowMs + restMs }
}

/** Number of the chat that a group became; `undefined` while it is what it was. */
function movedChat(answer: PostAnswer): number | undefined {
  const body = answer.kind === 'answered' ? parsedJson(answer.text) : undefined
  const movedTo = valueAt(body, ['parameters', 'migrate_to_chat_id'])
  return typeof movedTo === 'number' ? movedTo : undefined
}

/** The beginning of an answer, on one line. An HTML page says nothing. */
function quotedText(text: PeerText): string {
  const line = shortened(text.trim().replace(/\s+/g, ' '), answerCharsMax)
  return line === '' || line.startsWith('<') ? '' : `: ${line}`
}

const titles: Readonly<Record<Notice['trouble'], string>> = {
  'not-delivered': 'not delivered',
  'key-refused': 'key refused',
  dead: 'metrics refused for good',
  held: 'metrics held',
  gap: 'hours lost',
  'not-ready': 'not ready',
  'fleet-differs': 'a daemon differs from its fleet',
  test: 'test',
}

/** A notice as plain text for a chat. At most about 3,200 characters, which fit into one message of Telegram. */
function noticeText({ trouble, state, hour, what: fact, why: reason, do: instruction }: Notice): string {
  const mark = state === 'begin' ? '🔴' : '🟢'
  const title = `${mark} Tidegauge: ${titles[trouble]}${state === 'over' ? ', over' : ''} (${hour})`
  if (state === 'over') return [title, reason, fact].join('\n')
  return [title, fact, ...(reason === '' ? [] : [`Why: ${reason}`]), `Do: ${instruction}`].join('\n')
}
