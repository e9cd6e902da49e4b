import { z } from 'zod'
import { hostOf, isForeign, mayBeSecretHeader } from '../model/host.ts'
import { hourMs, keepMsMin } from '../model/limits.ts'
import {
  contractAddress,
  contractAddressPattern,
  defaultListen,
  endpoint,
  hostName,
  hostNamePattern,
  listenAddress,
  listenPattern,
  logoUrl,
  parsed,
  refused,
  serviceUrl,
  type TextParser,
} from './addresses.ts'
import { ca, proxy, service } from './egress-fields.ts'
import {
  addressFields,
  addressOf,
  dayHour,
  dayHourPattern,
  displayText,
  duration,
  durationOrNone,
  durationPattern,
  everyHours,
  everyPattern,
  fullHour,
  headers,
  key,
  laneText,
  machineName,
  namePattern,
  path,
  secretAt,
  secretRef,
  slug,
  slugPattern,
  textField,
} from './fields.ts'

/**
 * Schema of the operator's file: the form, the default and the bounds of each key. Its output is not yet the `Config`:
 * load.ts adds places, absolute paths and collector ids. explain.ts words the mistakes, using `description` and
 * `examples`.
 */

/** Upper bound of a run's deadline: an hour is collected before the next one is due. */
const deadlineMsMax = 30 * 60_000

/** A duration. @param example as written in the file */
const durationField = (parser: TextParser<number>, description: string, example: string) =>
  textField(parser, { description, examples: [example], pattern: durationPattern })

/** Where an address is kept that messages are posted to. */
const postAddressAt = (description: string, name: string) =>
  secretAt(
    `${description} It is HTTPS, or http:// on a loopback address, is read when needed, and is never written in this file.`,
    name,
  )

const folder = textField(
  text =>
    /^\s*postgres(ql)?:/i.test(text)
      ? refused('the address of a database is never written in this file', 'write { postgres: { env: DATABASE_URL } }')
      : path(text),
  {
    description: 'Folder of the outbox and all that is kept; relative to this file; made with mode 0700.',
    examples: ['../data'],
  },
)

/** Where the outbox is kept. */
const data = z
  .union([
    folder,
    z
      .strictObject({
        postgres: secretAt(
          'Where the address of the database is kept, postgres://USER:PASSWORD@HOST:5432/DATABASE. It is read when the daemon starts, and never written in this file.',
          'DATABASE_URL',
        ),
      })
      .meta({ description: 'A PostgreSQL database, version 13 or later, that the daemons of a fleet share.' }),
  ])
  .prefault('../data')
  .meta({
    description:
      'Where the outbox is kept: in a folder, relative to this file and made with mode 0700, or in a PostgreSQL database that the daemons of a fleet share.',
    examples: ['../data', { postgres: { env: 'DATABASE_URL' } }],
  })

/** A daemon among those of its fleet. */
const fleet = z
  .strictObject({
    name: textField(machineName, {
      description: 'Name of this daemon; each daemon of a fleet has its own. Default: the name of the host.',
      examples: ['eu-1'],
      pattern: namePattern,
    }).optional(),
    lanes: z
      .array(textField(laneText, { description: 'Name of a chain, web, or machine/NAME.', examples: ['ethereum'] }))
      .min(1)
      .max(100)
      .optional()
      .meta({
        description:
          'What this daemon collects: names of chains, web for collectors without a chain, machine/NAME for those of a machine. Default: every chain with a node that answers, web, and machine/ with its own name.',
        examples: [['ethereum', 'web']],
      }),
    folder: textField(path, {
      description:
        'Folder of this daemon alone, relative to this file: what can be read only "now" waits there while the database is away. Default: ../data.',
      examples: ['../data'],
    }).optional(),
  })
  .meta({
    description: 'This daemon among those that share the database of `data`.',
    examples: [{ name: 'eu-1', lanes: ['ethereum', 'web'] }],
  })

/** The machine of a collector that reads the machine it runs on. */
const machine = textField(machineName, {
  description:
    'The daemon of the fleet, by its name, that runs this collector. Default, of a collector that reads its own machine: the daemon that first ran it.',
  examples: ['eu-1'],
  pattern: namePattern,
})

/** Where it is reported that each hour was collected and delivered. */
const heartbeat = z
  .strictObject({
    url: postAddressAt('Where the address of the check is kept.', 'HEARTBEAT_URL'),
  })
  .meta({
    description:
      'A POST for each hour, as Healthchecks.io takes it: to /start of an address when collecting begins, then to the address itself, or to its /fail when a collector failed or something is undelivered.',
    examples: [{ url: { env: 'HEARTBEAT_URL' } }],
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
    token: secretAt(
      'Where the token of the bot is kept. It is read when needed, and never written in this file.',
      'TELEGRAM_TOKEN',
    ),
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
    webhook: postAddressAt(
      'Where the address of a webhook is kept, which takes a POST of JSON.',
      'ALERT_URL',
    ).optional(),
    slack: postAddressAt('Where the address of a Slack incoming webhook is kept.', 'SLACK_URL').optional(),
    telegram: telegram.optional(),
  })
  .transform(({ webhook, slack, telegram }, context) => {
    const count = [webhook, slack, telegram].filter(one => one !== undefined).length
    if (count === 1 && webhook) return { kind: 'webhook' as const, url: webhook }
    if (count === 1 && slack) return { kind: 'slack' as const, url: slack }
    if (count === 1 && telegram) return { kind: 'telegram' as const, ...telegram }
    const message = `says ${count === 0 ? 'none' : 'more than one'} of webhook, slack and telegram`
    const fix =
      count === 0 ? 'write one of them, like { webhook: { env: ALERT_URL } }' : 'write an entry for each receiver'
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
const notify = z
  .array(receiver)
  .max(20)
  .prefault([])
  .meta({
    description:
      'Receivers of a message when a trouble begins and of one when it is over: an hour not delivered, a refused key, dead and held metrics, gaps.',
    examples: [[{ webhook: { env: 'ALERT_URL' } }]],
  })

const chainName = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9 ._-]{0,99}$/)

/** Of a host that never answers: an example that is copied as it stands gives no value, and never a wrong one. */
const exampleSource = { url: 'https://api.example.com/price?at={hour}', pointer: '/usd' }

const source = z.record(z.string(), z.unknown()).meta({
  description:
    'A feed, a pool or a call on a chain, an address with the hour in it, another price, or a fixed number: collectors/README.md shows each.',
  examples: [exampleSource],
})

const sources = z.array(source).min(1)

const tokenAddress = z.union([
  z.literal('native'),
  textField(contractAddress, {
    description: 'Address of the token on that chain.',
    examples: ['0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48'],
    pattern: contractAddressPattern,
  }),
])

/** A price together with the tokens that it is of. */
const priceOfTokens = z
  .strictObject({
    sources: sources.meta({ description: 'Sources of the price, in order.', examples: [[exampleSource]] }),
    tokens: z.record(chainName, tokenAddress).meta({
      description:
        'Address of what the price is of, by chain, or `native` for the coin of the chain: `assets` of `balances` then name it by the price.',
      examples: [{ ethereum: '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48' }],
    }),
  })
  .meta({ description: 'Sources, and the tokens that the price is of.' })

/** The prices of a file by name. Their sources are checked by the shipped collector that reads them. */
const prices = z
  .record(z.string().regex(/^[A-Za-z0-9][A-Za-z0-9 ._-]{0,99}$/), z.union([sources, priceOfTokens]))
  .prefault({})
  .meta({
    description:
      'US dollars of the hour by a name; the first source that answers stands. Without an answer, what needs the price fails.',
    examples: [{ ETH: [{ chain: 'ethereum', feed: '0x5f4eC3Df9cbd43714FE2740f5E3616155c5b8419', maxAge: 4500 }] }],
  })

const tokenSource = z.record(z.string(), z.unknown()).meta({
  description: 'An address that answers prices of tokens, or tokens with the name of a price: collectors/README.md.',
  examples: [{ '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48': 'USDC' }],
})

/** The prices of tokens by their chain. Their sources are checked by the shipped collector that reads them. */
const tokenPrices = z
  .record(chainName, z.array(tokenSource).min(1))
  .prefault({})
  .meta({
    description:
      'US dollars of the hour of tokens by their address, for `price: token`: by the name of the chain. The first source that has a price of a token stands.',
    examples: [{ ethereum: [{ '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48': 'USDC' }] }],
  })

/** The lists of a file by name. Each is checked by the shipped collector that reads it. */
const lists = z
  .record(
    z.string().regex(/^[A-Za-z0-9][A-Za-z0-9 ._-]{0,99}$/),
    z.record(z.string(), z.unknown()).meta({
      description: 'length and item, array, event, url, or fixed, on a chain: collectors/README.md shows each.',
      examples: [{ chain: 'ethereum', fixed: ['0x5f4eC3Df9cbd43714FE2740f5E3616155c5b8419'] }],
    }),
  )
  .prefault({})
  .meta({
    description:
      'Addresses as of the hour by a name, for `each: NAME` in place of a list of addresses. A list that cannot be read fails what uses it.',
    examples: [
      {
        pairs: {
          chain: 'ethereum',
          address: '0x5C69bEe701ef814a2B6a3EDD4B1652CB9cc5aA6f',
          length: 'allPairsLength() view returns (uint256)',
          item: 'allPairs(uint256) view returns (address)',
        },
      },
    ],
  })

const dayHourField = textField(dayHour, {
  description: 'Full hour of the day in UTC.',
  examples: ['00:00'],
  pattern: dayHourPattern,
})

const collector = z
  .strictObject({
    use: textField(displayText, {
      description: 'A name in collectors/, a path relative to this file (./my/own.ts), or an npm package.',
      examples: ['host'],
    }),
    id: textField(slug, {
      description: 'Own id, unique in its protocol. Default: the last part of use, without its extension.',
      examples: ['host'],
      pattern: slugPattern,
    }).optional(),
    options: z
      .record(z.string(), z.unknown())
      .prefault({})
      .meta({ description: 'Options of the collector; its own schema says which.', examples: [{ chain: 'ethereum' }] }),
    since: textField(fullHour, {
      description:
        'First hour that is expected of it; of one that reads only "now", not before its first run. Default: the hour in which the daemon first runs it.',
      examples: ['2026-11-20T13:00:00Z'],
    }).optional(),
    at: z
      .union([dayHourField, z.array(dayHourField).min(1)])
      .meta({
        description: 'Hour of the day in UTC, or a list of them, that alone is expected. Default: each full hour is.',
        examples: ['00:00'],
      })
      .optional(),
    every: textField(everyHours, {
      description:
        'Hours from one that is expected to the next: 24h, or 1d, is one a day, at `at`, or 00:00. Default: 1h, or 24h with at.',
      examples: ['24h'],
      pattern: everyPattern,
    }).optional(),
    deadline: durationField(
      duration(deadlineMsMax),
      'Longest time for this collector and one hour. Default: that of collect.',
      '60s',
    ).optional(),
    machine: machine.optional(),
  })
  .meta({ description: 'A collector that reads values every full hour.', examples: [{ use: 'host' }] })

const example = { id: 'awesome-vault', name: 'Awesome Vault', collectors: [{ use: 'host' }] }

const protocol = z
  .strictObject({
    id: textField(slug, {
      description: 'Slug, unique at the service; it never changes. Lowercase letters, digits, - and _.',
      examples: ['awesome-vault'],
      pattern: slugPattern,
    }),
    name: textField(displayText, { description: 'Display name.', examples: ['Awesome Vault'] }),
    logo: textField(logoUrl, {
      description: 'Address of a logo image.',
      examples: ['https://example.com/logo.png'],
    }).optional(),
    chains: z
      .array(textField(displayText, { description: 'Name of a chain.', examples: ['ethereum'] }))
      .max(100)
      .optional()
      .meta({ description: 'Names of chains, for display alone.', examples: [['ethereum']] }),
    key: key.meta({ description: "Overrides the service's key: a protocol may be owned by another key." }).optional(),
    register: z.boolean().optional().meta({
      description: 'Register the protocol when the service does not know it. Default: true with the embedded service.',
    }),
    collectors: z
      .array(collector)
      .min(1)
      .meta({ description: 'The collectors of the protocol.', examples: [[{ use: 'host' }]] }),
  })
  .meta({ description: 'A protocol: one widget.', examples: [example] })

const protocols = z
  .array(protocol)
  .min(1)
  .meta({ description: 'Protocols; one is one widget.', examples: [[example]] })

const endpointText = textField(endpoint, {
  description: 'http(s)://, ws(s)://, or the path of an IPC socket; relative to this file.',
  examples: ['http://127.0.0.1:8545'],
})

const withLimits = z
  .strictObject({
    url: textField(endpoint, { description: 'The address itself, if it holds no secret.' }).optional(),
    ...addressFields,
    rate: z
      .number()
      .positive()
      .max(100_000)
      .optional()
      .meta({ description: 'Calls a second at most. Default: discovered from its answers.', examples: [25] }),
    batch: z
      .int()
      .min(1)
      .max(10_000)
      .optional()
      .meta({ description: 'Calls in one request at most. Default: discovered from its answers.', examples: [100] }),
    logBlocks: z
      .int()
      .min(1)
      .max(1_000_000)
      .optional()
      .meta({
        description: 'Blocks that one eth_getLogs may span at most. Default: discovered from its answers.',
        examples: [500],
      }),
    headers: headers.optional(),
  })
  .transform(({ url, file, env, rate, batch, logBlocks, headers }, context) => {
    const limits = {
      ...(headers !== undefined && { headers }),
      ...(rate !== undefined && { rate }),
      ...(batch !== undefined && { batch }),
      ...(logBlocks !== undefined && { logBlocks }),
    }
    if (headers && url !== undefined && !/^(https?|wss?):/i.test(url)) {
      const fix = 'remove them, or name an http(s):// or ws(s):// address'
      context.addIssue({
        code: 'custom',
        path: ['headers'],
        message: 'an IPC socket takes no headers',
        params: { fix },
      })
    }
    if (url !== undefined && Object.keys(headers ?? {}).some(mayBeSecretHeader) && isOpenAddress(url)) {
      const message = 'http:// is only for private networks: the header would be sent unencrypted'
      context.addIssue({ code: 'custom', path: ['url'], message, params: { fix: 'write https://' } })
    }
    const where = addressOf({ url, file, env }, context)
    return where ? { ...where, ...limits } : z.NEVER
  })
  .meta({
    description: 'Where the address is kept, or the address with limits of the node.',
    examples: [{ env: 'ETHEREUM_RPC_URL' }],
    oneOf: [{ required: ['url'] }, { required: ['file'] }, { required: ['env'] }],
  })

/** An endpoint: its address or where that is kept, optionally with the node's limits. */
const rpc = z.union([endpointText, withLimits])

/** Whether what is sent there can be read on the way. */
function isOpenAddress(text: string): boolean {
  return /^(http|ws):/i.test(text) && URL.canParse(text) && isForeign(new URL(text).hostname)
}

const chain = z
  .strictObject({
    id: z
      .int()
      .positive()
      .meta({ description: 'Chain id, as eth_chainId answers it.', examples: [1] }),
    rpc: z
      .array(rpc)
      .min(1)
      .meta({ description: 'Nodes to read from; the first is preferred.', examples: [['http://127.0.0.1:8545']] }),
    settle: textField(durationOrNone(24 * hourMs), {
      description:
        'Time after an hour until its block counts as final. At most 24h. Default: a safe time for the chain id.',
      examples: ['20m'],
      pattern: '^(0s|[1-9][0-9]{0,8}(ms|s|m|h|d))$',
    }).optional(),
    agree: z
      .int()
      .min(2)
      .max(10)
      .optional()
      .meta({
        description:
          'Endpoints of different hosts that must give the same values at every hour. Default: one is enough, and another is asked about a jump alone.',
        examples: [2],
      }),
    multicall: textField(contractAddress, {
      description:
        'Address of Multicall3 where it is not at its usual one, 0xcA11bde05977b3631167028862bE2a173976CA11.',
      examples: ['0xcA11bde05977b3631167028862bE2a173976CA11'],
      pattern: contractAddressPattern,
    }).optional(),
  })
  .superRefine(({ rpc: nodes, agree = 1 }, context) => {
    // An address that is kept elsewhere is of a host of its own, until it is read.
    const hosts = nodes.map((node, place) => {
      const address = typeof node === 'string' ? node : node.kind === 'url' ? node.url : undefined
      return address === undefined ? place : hostOf(address)
    })
    const hostCount = new Set(hosts).size
    if (hostCount === 0 || hostCount >= agree) return
    const message = `as many endpoints of different hosts are needed, and rpc has ${hostCount}`
    const fix = 'add endpoints of other hosts; a smaller number lets fewer of them decide what a value is'
    context.addIssue({ code: 'custom', path: ['agree'], message, params: { fix } })
  })
  .meta({ description: 'A chain that collectors read.' })

const includedPath = textField(path, {
  description: 'A file, or a pattern with * ? [ ] { } or **, relative to this file.',
  examples: ['./protocols/*.yaml'],
})

const includeEntry = z
  .union([
    includedPath,
    z.strictObject({
      path: includedPath,
      secrets: z
        .array(
          z
            .string()
            .min(1)
            .meta({ description: 'Name of a variable, or path of a file.', examples: ['TEAM_KEY'] }),
        )
        .max(1_000)
        .meta({
          description: 'The only secrets that these files may use: variables by name, files by path.',
          examples: [['TEAM_KEY']],
        }),
    }),
  ])
  .meta({ description: 'A file or a pattern; or a map that also names the secrets that may be used there.' })

/** The whole file, as an operator writes it. `checks.ts` requires protocols, here or in an included file. */
export const operatorFile = z
  .strictObject({
    service,
    proxy: proxy.optional(),
    ca: ca.optional(),
    data,
    fleet: fleet.optional(),
    collect: z
      .strictObject({
        deadline: durationField(
          duration(deadlineMsMax),
          'Time limit for one collector and hour. At most 30m.',
          '60s',
        ).prefault('60s'),
        catchUp: durationField(
          duration(90 * 24 * hourMs, hourMs),
          'Catch-up range of hours missed in downtime. From 1h to 90d, and less than outbox.keep.',
          '7d',
        ).prefault('7d'),
      })
      .prefault({})
      .meta({ description: 'Settings of collecting values.', examples: [{ deadline: '60s' }] }),
    delivery: z
      .strictObject({
        timeout: durationField(
          duration(10 * 60_000),
          'Time limit for one push and its whole answer. At most 10m.',
          '60s',
        ).prefault('30s'),
        inFlight: z.int().min(1).max(64).prefault(4).meta({ description: 'Pushes under way at a time.' }),
        pace: z
          .number()
          .positive()
          .max(1_000)
          .prefault(5)
          .meta({ description: 'Pushes a second while a backlog drains.' }),
      })
      .prefault({})
      .meta({ description: 'Settings of pushing batches.', examples: [{ pace: 5 }] }),
    outbox: z
      .strictObject({
        keep: durationField(
          duration(3_650 * 24 * hourMs, keepMsMin),
          'Time for which delivered metrics are kept, for the status and the history. At least 8d.',
          '35d',
        ).prefault('35d'),
      })
      .prefault({})
      .meta({ description: 'The store of due and delivered metrics.', examples: [{ keep: '35d' }] }),
    status: z
      .strictObject({
        listen: textField(listenAddress, {
          description: 'host:port of the page, health and telemetry; an IPv6 host in brackets.',
          examples: ['127.0.0.1:9464'],
          pattern: listenPattern,
        }).prefault(defaultListen),
        hosts: z
          .array(
            textField(hostName, {
              description: 'A name, without a port.',
              examples: ['tidegauge.internal'],
              pattern: hostNamePattern,
            }),
          )
          .max(100)
          .prefault([])
          .meta({
            description:
              'Names the page answers to, when it listens on all addresses: a web page elsewhere can then not read it under a name of its own. IP addresses and localhost are always answered. Default: these alone.',
            examples: [['tidegauge.internal']],
          }),
        ready: z
          .enum(['late', 'strict'])
          .prefault('late')
          .meta({
            description:
              'What makes readiness red. late: hours that are late or stopped. strict: dead and held metrics of the newest hour, too, which otherwise are warnings.',
            examples: ['strict'],
          }),
      })
      .prefault({})
      .meta({ description: 'The status server.', examples: [{ listen: '127.0.0.1:9464' }] }),
    log: z
      .strictObject({
        level: z
          .enum(['debug', 'info', 'warn', 'error'])
          .prefault('info')
          .meta({ description: 'Lines below it are not logged.', examples: ['info'] }),
      })
      .prefault({})
      .meta({ description: "The daemon's log, on standard error.", examples: [{ level: 'info' }] }),
    heartbeat: heartbeat.optional(),
    notify,
    chains: z
      .record(chainName, chain)
      .prefault({})
      .meta({
        description: 'Chains by the name that collectors use for them.',
        examples: [{ ethereum: { id: 1, rpc: ['http://127.0.0.1:8545'] } }],
      }),
    include: z
      .array(includeEntry)
      .max(100)
      .prefault([])
      .meta({
        description:
          'Further files with protocols, prices, tokenPrices and lists, and nothing else. Their paths are relative to themselves. They may use files below their own folder, and variables that no other file names; with `secrets` those variables and files alone that are named.',
        examples: [['./protocols/*.yaml']],
      }),
    prices,
    tokenPrices,
    lists,
    protocols: protocols.optional(),
  })
  .superRefine(({ collect, outbox }, context) => {
    if (collect.catchUp < outbox.keep) return
    const message = 'hours that are not kept any more cannot be caught up: this must be less than outbox.keep'
    const fix = 'write a shorter one, or a longer outbox.keep'
    context.addIssue({ code: 'custom', path: ['collect', 'catchUp'], message, params: { fix } })
  })
  .meta({ title: 'Tidegauge configuration' })

/** The parsed file: durations in milliseconds, defaults filled in. Paths are still as written. */
export type ParsedFile = z.output<typeof operatorFile>

/** A file that the operator's file includes. */
export const includedFile = z
  .strictObject({ prices, tokenPrices, lists, protocols: protocols.optional() })
  .meta({ title: 'Tidegauge configuration, an included file' })

/** A parsed file that was included. */
export type ParsedIncludedFile = z.output<typeof includedFile>
