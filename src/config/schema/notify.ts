import { z } from 'zod'
import { serviceUrl } from './addresses.ts'
import { receiversMax } from './limits.ts'
import { parsed, refused } from './parsed-text.ts'
import { secretRef, textField } from './text-field.ts'

const address = (description: string, name: string) =>
  secretRef.meta({
    description: `${description} It is HTTPS, or http:// on a loopback address, is read when needed, and is never written in this file.`,
    examples: [{ env: name }, { file: `/run/secrets/${name.toLowerCase()}` }],
    minProperties: 1,
    maxProperties: 1,
  })

const chatPattern = '^(-?[1-9][0-9]{0,15}|@[A-Za-z][A-Za-z0-9_]{3,31})$'

const chatName = textField(
  text =>
    new RegExp(chatPattern).test(text)
      ? parsed({ kind: 'text' as const, text })
      : refused('this is not a chat', 'write its number, like -1001234567890, or the name of a channel, like "@tides"'),
  { description: 'Number of the chat, or name of a channel.', examples: ['@tides'], pattern: chatPattern },
)

const chatNumber = z
  .int()
  .refine(number => number !== 0, { error: 'this is not a chat' })
  .transform(number => ({ kind: 'text' as const, text: String(number) }))

const telegram = z
  .strictObject({
    token: secretRef.meta({
      description: 'Where the token of the bot is kept. It is read when needed, and never written in this file.',
      examples: [{ env: 'TELEGRAM_TOKEN' }, { file: '/run/secrets/telegram_token' }],
      minProperties: 1,
      maxProperties: 1,
    }),
    chat: z.union([chatNumber, chatName, secretRef]).meta({
      description: 'The chat that the bot writes to: its number, or @ and the name of a channel.',
      examples: [-1001234567890],
    }),
    url: textField(serviceUrl, {
      description: 'Address of a Bot API server of your own: HTTPS, or http:// on a loopback address.',
      examples: ['https://api.telegram.org'],
    }).prefault('https://api.telegram.org'),
  })
  .meta({ description: 'A chat that a Telegram bot writes to.' })

const receiver = z
  .strictObject({
    webhook: address('Where the address of a webhook is kept, which takes a POST of JSON.', 'ALERT_URL').optional(),
    slack: address('Where the address of a Slack incoming webhook is kept.', 'SLACK_URL').optional(),
    telegram: telegram.optional(),
  })
  .transform(({ webhook, slack, telegram }, context) => {
    const named = [webhook, slack, telegram].filter(one => one !== undefined).length
    if (named === 1 && webhook) return { kind: 'webhook' as const, url: webhook }
    if (named === 1 && slack) return { kind: 'slack' as const, url: slack }
    if (named === 1 && telegram) return { kind: 'telegram' as const, ...telegram }
    const message = `says ${named === 0 ? 'none' : 'more than one'} of webhook, slack and telegram`
    const fix =
      named === 0 ? 'write one of them, like { webhook: { env: ALERT_URL } }' : 'write an entry for each receiver'
    context.addIssue({ code: 'custom', message, params: { fix } })
    return z.NEVER
  })
  .meta({
    description: 'A receiver of notifications.',
    examples: [
      { webhook: { env: 'ALERT_URL' } },
      { slack: { env: 'SLACK_URL' } },
      { telegram: { token: { env: 'TELEGRAM_TOKEN' }, chat: -1001234567890 } },
    ],
    minProperties: 1,
    maxProperties: 1,
  })

/** Receivers of notifications of troubles. */
export const notify = z
  .array(receiver)
  .max(receiversMax)
  .prefault([])
  .meta({
    description:
      'Receivers of a message when a trouble begins and of one when it is over: an hour not delivered, a refused key, dead and held metrics, gaps.',
    examples: [[{ webhook: { env: 'ALERT_URL' } }]],
  })
