import { dirname } from 'node:path'
import type { Config, EndpointRef, HeaderValue, SecretRef } from './config.ts'
import { secretsWritten } from './option-secrets.ts'

/** Files and folders that no collector may read: the configuration, secret files, and the data. */
export function hiddenPaths({ file, data, service, protocols, chains }: Config): string[] {
  const collectors = protocols.flatMap(protocol => protocol.collectors)
  const secrets = [
    service.kind === 'remote' ? service.key : undefined,
    ...protocols.map(({ key }) => key),
    ...chains.flatMap(({ rpc }) => rpc.flatMap(endpoint => [endpoint, ...Object.values(endpoint.headers ?? {})])),
    ...collectors.flatMap(({ options }) => secretsWritten(options, file).map(({ ref }) => ref)),
  ]
  // The embedded service's folder lies in that of a real service, which may have been used before.
  return [file, service.kind === 'embedded' ? dirname(data) : data, ...secrets.flatMap(fileOf)]
}

type Kept = SecretRef | EndpointRef | HeaderValue | undefined

function fileOf(ref: Kept): string[] {
  return ref?.kind === 'file' ? [ref.path] : []
}
