import { z } from 'zod'
import { keepMsMin } from '../../model/limits.ts'
import {
  contractAddress,
  contractAddressPattern,
  defaultListen,
  hostName,
  hostNamePattern,
  listenAddress,
  listenPattern,
  serviceUrl,
} from './addresses.ts'
import { data, fleet } from './data.ts'
import { heartbeat } from './heartbeat.ts'
import {
  agreeMax,
  catchUpMsMax,
  catchUpMsMin,
  deadlineMsMax,
  deliveryTimeoutMsMax,
  inFlightMax,
  keepMsMax,
  pacePerSecondMax,
  settleMsMax,
} from './limits.ts'
import { notify } from './notify.ts'
import { prices } from './prices.ts'
import { protocols } from './protocols.ts'
import { rpc } from './rpc.ts'
import { key, textField } from './text-field.ts'
import { duration, durationOrNone, durationOrNonePattern, durationPattern, path } from './text-parsers.ts'

/**
 * Schema of the operator's file: the form and the default of each key. Its output is not yet the `Config`: build.ts adds places, absolute
 * paths and collector ids. explain.ts words the mistakes, using `description` and `examples`.
 */

const service = z
  .union([
    z.literal('embedded').meta({ description: 'The reference service inside the daemon, with its own key.' }),
    z.strictObject({
      url: textField(serviceUrl, {
        description: 'Base address: HTTPS, or http:// on a loopback address. No credentials, no query.',
        examples: ['https://metrics.example.com'],
      }),
      key: key.optional(),
    }),
  ])
  .meta({
    description: 'The metrics service that the values are pushed to.',
    examples: ['embedded', { url: 'https://metrics.example.com', key: { env: 'METRICS_KEY' } }],
  })

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
    settle: textField(durationOrNone(settleMsMax), {
      description:
        'Time after an hour until its block counts as final. At most 24h. Default: a safe time for the chain id.',
      examples: ['20m'],
      pattern: durationOrNonePattern,
    }).optional(),
    agree: z
      .int()
      .min(2)
      .max(agreeMax)
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
    if (nodes.length >= agree) return
    const message = `as many endpoints of different hosts are needed, and rpc has ${nodes.length}`
    context.addIssue({ code: 'custom', path: ['agree'], message, params: { fix: 'add endpoints, or write less' } })
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

const durationMeaning = { examples: ['60s'], pattern: durationPattern }

/** The whole file, as an operator writes it. `checks.ts` requires protocols, here or in an included file. */
export const operatorFile = z
  .strictObject({
    service,
    data,
    fleet: fleet.optional(),
    collect: z
      .strictObject({
        deadline: textField(duration(deadlineMsMax), {
          description: 'Time limit for one collector and hour. At most 30m.',
          ...durationMeaning,
        }).prefault('60s'),
        catchUp: textField(duration(catchUpMsMax, catchUpMsMin), {
          description: 'Catch-up range of hours missed in downtime. From 1h to 90d, and less than outbox.keep.',
          examples: ['7d'],
          pattern: durationPattern,
        }).prefault('7d'),
      })
      .prefault({})
      .meta({ description: 'Settings of collecting values.', examples: [{ deadline: '60s' }] }),
    delivery: z
      .strictObject({
        timeout: textField(duration(deliveryTimeoutMsMax), {
          description: 'Time limit for one push and its whole answer. At most 10m.',
          ...durationMeaning,
        }).prefault('30s'),
        inFlight: z.int().min(1).max(inFlightMax).prefault(4).meta({ description: 'Pushes under way at a time.' }),
        pace: z
          .number()
          .positive()
          .max(pacePerSecondMax)
          .prefault(5)
          .meta({ description: 'Pushes a second while a backlog drains.' }),
      })
      .prefault({})
      .meta({ description: 'Settings of pushing batches.', examples: [{ pace: 5 }] }),
    outbox: z
      .strictObject({
        keep: textField(duration(keepMsMax, keepMsMin), {
          description: 'Time for which delivered metrics are kept, for the status and the history. At least 8d.',
          examples: ['35d'],
          pattern: durationPattern,
        }).prefault('35d'),
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
              'Names the page answers to, when it listens on all addresses: a web page elsewhere can then not read it under a name of its own. IP addresses and localhost are always answered. Default: every name.',
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
      .record(z.string().regex(/^[A-Za-z0-9][A-Za-z0-9 ._-]{0,99}$/), chain)
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
          'Further files with protocols and prices, and nothing else. Their paths are relative to themselves. They may use no secret that service, data, chains, heartbeat or notify use; with `secrets` those alone that are named.',
        examples: [['./protocols/*.yaml']],
      }),
    prices,
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
