import { dirname } from 'node:path'
import type { Config, SecretRef } from './config.ts'

/** Files and folders that no collector may read: the configuration, the files of secrets, and what is kept. */
export function hiddenPaths({ file, data, service, protocols, chains }: Config): string[] {
  const secrets = [
    service.kind === 'remote' ? service.key : undefined,
    ...protocols.map(({ key }) => key),
    ...chains.flatMap(({ rpc }) => rpc.map(endpoint => (endpoint.kind === 'url' ? undefined : endpoint))),
  ]
  // The embedded service's folder lies in that of a real one, which may have been used before.
  return [file, service.kind === 'embedded' ? dirname(data) : data, ...secrets.flatMap(fileOf)]
}

function fileOf(ref: SecretRef | undefined): string[] {
  return ref?.kind === 'file' ? [ref.path] : []
}
