import { z } from 'zod'
import { mayBeSecretHeader } from '../../model/header-name.ts'
import { isForeign } from '../../model/host.ts'
import { endpoint } from './addresses.ts'
import { headers } from './headers.ts'
import { rpcBatchCallsMax, rpcCallsPerSecondMax, rpcLogBlocksMax } from './limits.ts'
import { textField } from './text-field.ts'
import { environmentName, environmentNamePattern, path } from './text-parsers.ts'

const address = textField(endpoint, {
  description: 'http(s)://, ws(s)://, or the path of an IPC socket; relative to this file.',
  examples: ['http://127.0.0.1:8545'],
})

const withLimits = z
  .strictObject({
    url: textField(endpoint, { description: 'The address itself, if it holds no secret.' }).optional(),
    file: textField(path, {
      description: 'File that holds the address and nothing else; relative to this file.',
    }).optional(),
    env: textField(environmentName, {
      description: 'Environment variable that holds the address.',
      pattern: environmentNamePattern,
    }).optional(),
    rate: z
      .number()
      .positive()
      .max(rpcCallsPerSecondMax)
      .optional()
      .meta({ description: 'Calls a second at most. Default: discovered from its answers.', examples: [25] }),
    batch: z
      .int()
      .min(1)
      .max(rpcBatchCallsMax)
      .optional()
      .meta({ description: 'Calls in one request at most. Default: discovered from its answers.', examples: [100] }),
    logBlocks: z
      .int()
      .min(1)
      .max(rpcLogBlocksMax)
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
    const named = [url, file, env].filter(one => one !== undefined).length
    if (named === 1 && url !== undefined) return { kind: 'url' as const, url, ...limits }
    if (named === 1 && file !== undefined) return { kind: 'file' as const, path: file, ...limits }
    if (named === 1 && env !== undefined) return { kind: 'env' as const, name: env, ...limits }
    const message = named === 0 ? 'says none of url, file and env' : 'says more than one of url, file and env'
    const fix = 'write one of { url: … }, { file: … } and { env: … }'
    context.addIssue({ code: 'custom', message, params: { fix } })
    return z.NEVER
  })
  .meta({
    description: 'Where the address is kept, or the address with limits of the node.',
    examples: [{ env: 'ETHEREUM_RPC_URL' }],
    oneOf: [{ required: ['url'] }, { required: ['file'] }, { required: ['env'] }],
  })

/** An endpoint: its address or where that is kept, optionally with the node's limits. */
export const rpc = z.union([address, withLimits])

/** Whether what is sent there can be read on the way. */
function isOpenAddress(text: string): boolean {
  return /^(http|ws):/i.test(text) && URL.canParse(text) && isForeign(new URL(text).hostname)
}
