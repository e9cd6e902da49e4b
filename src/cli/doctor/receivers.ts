import type { AppContext } from '../../app/context.ts'
import { placeName, type ReceiverConfig, type SecretRef } from '../../config/config.ts'
import { readSecret, resolvePostAddress } from '../../config/secret.ts'
import { HttpExchange } from '../../edge/http-exchange.ts'
import { networkFix, networkReason } from '../../edge/network-reason.ts'
import type { PostAnswer } from '../../edge/post-message.ts'
import { secretPartsOf, shownHost } from '../../model/host.ts'
import { peerText } from '../../model/text.ts'
import { botPath, judgeTelegram } from '../../reports/notify/receivers.ts'
import { type Finding, ok, usable, warning } from './here.ts'

/** Time limit for one receiver's answer, in milliseconds, and bytes read of it. */
const [answerMsMax, answerBytesMax] = [10_000, 65_536]

/**
 * The heartbeat and each receiver of alerts, without sending a message. A GET of a check's or a webhook's own address may
 * count as one, so only its host's first page is asked for; Telegram says of a chat whether the bot may see it.
 */
export async function receiverFindings(context: AppContext): Promise<readonly Finding[]> {
  const { heartbeat, notify } = context.config
  const findings = [
    ...(heartbeat ? [hostFinding(context, 'heartbeat', heartbeat.url, 'the next hour is reported to it')] : []),
    ...notify.map(receiver => receiverFinding(context, receiver)),
  ]
  return (await Promise.all(findings)).flat()
}

function receiverFinding(context: AppContext, receiver: ReceiverConfig): Promise<Finding[]> {
  const next = 'tidegauge notify test sends it a message'
  if (receiver.kind === 'telegram') return chatFinding(context, receiver, next)
  return hostFinding(context, `${receiver.kind} ${placeName(receiver.url)}`, receiver.url, next)
}

async function hostFinding(context: AppContext, subject: string, ref: SecretRef, next: string): Promise<Finding[]> {
  const address = usable(() => new URL(resolvePostAddress(ref)))
  if (!address) return []
  const answer = await got(context, address.origin, '/')
  const host = shownHost(address)
  if (answer.kind === 'unanswered') return [unreachable(subject, host, answer)]
  return [ok(subject, `${host} answers; ${next}`)]
}

async function chatFinding(
  context: AppContext,
  { token, chat, url }: Extract<ReceiverConfig, { readonly kind: 'telegram' }>,
  next: string,
): Promise<Finding[]> {
  const telegram = usable(() => {
    return { secret: readSecret(token), chatId: chat.kind === 'text' ? chat.text : readSecret(chat) }
  })
  if (!telegram) return []
  const { secret, chatId } = telegram
  context.redactor.add([secret, ...secretPartsOf(secret)])
  const subject = `telegram ${placeName(token)} ${chat.kind === 'text' ? chat.text : placeName(chat)}`
  const answer = await got(context, url, `${botPath(secret)}/getChat?chat_id=${encodeURIComponent(chatId)}`)
  const host = shownHost(new URL(url))
  if (answer.kind === 'unanswered') return [unreachable(subject, host, answer)]
  const verdict = judgeTelegram(answer, context.time.nowMs())
  if (verdict.kind === 'accepted') return [ok(subject, `the bot sees the chat; ${next}`)]
  const fix = 'check the token and the chat, and that the bot is a member of it'
  return [warning(subject, `the bot does not see the chat: ${verdict.reason}`, fix)]
}

/** Alerts stop neither delivery nor the next hour. */
function unreachable(
  subject: string,
  host: string,
  { reason, fix = 'check its address, and the network from here to it' }: Extract<PostAnswer, { kind: 'unanswered' }>,
): Finding {
  return warning(subject, `${host} does not answer: ${reason}`, fix)
}

async function got({ time }: AppContext, url: string, path: string): Promise<PostAnswer> {
  const exchange = new HttpExchange({ url, timeoutMs: answerMsMax, connections: 1, time })
  try {
    const headers = { 'accept-encoding': 'identity', 'user-agent': 'tidegauge' }
    const { status, text = '' } = await exchange.ask({ method: 'GET', path, headers, bytesMax: answerBytesMax })
    return { kind: 'answered', status, text: peerText(text) }
  } catch (error) {
    return { kind: 'unanswered', reason: networkReason(error), fix: networkFix(error) }
  } finally {
    await exchange.close()
  }
}
