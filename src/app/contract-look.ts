import { ContractLook } from '../chain/read/contract-look.ts'
import type { ChainConfig } from '../config/config.ts'
import { secretsOf } from '../config/secret.ts'
import type { AppContext } from './context.ts'
import { endpointSource } from './endpoint-source.ts'

/** Opens a configured chain for a look at its last block; it is closed with the stack. */
export function openContractLook(
  { name, id, rpc, multicall }: ChainConfig,
  context: AppContext,
  stack: AsyncDisposableStack,
): ContractLook {
  const { config, time, redactor } = context
  redactor.add(secretsOf(config))
  const endpoints = rpc.map(ref => endpointSource(name, ref, context))
  const look = new ContractLook({ name, id, multicall, endpoints, time, timeoutMs: config.collect.deadlineMs })
  stack.defer(() => look.close())
  return look
}
