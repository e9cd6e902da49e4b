import { dirname } from 'node:path'
import type { Config, EndpointRef, HeaderValue, SecretRef } from './config.ts'
import { configFiles } from './include.ts'
import { secretsWritten } from './option-secrets.ts'
import { outgoingSecrets } from './outgoing.ts'

/** Files and folders that no collector may read: the configuration, secret files, and the data. */
export function hiddenPaths(config: Config): string[] {
  const { data, service } = config
  // The embedded service's folder lies in that of a real service, which may have been used before.
  const folders =
    data.kind === 'postgres' ? [data.keptIn] : [service.kind === 'embedded' ? dirname(data.folder) : data.folder]
  return [...configFiles(config), ...folders, ...secretFiles(config)]
}

/** The files that secrets are kept in. */
export function secretFiles(config: Config): string[] {
  const { data, service, protocols, chains, prices } = config
  const collectors = [...prices.map(({ collector }) => collector), ...protocols.flatMap(({ collectors }) => collectors)]
  const secrets = [
    service.kind === 'remote' ? service.key : undefined,
    data.kind === 'postgres' ? data.address : undefined,
    ...protocols.map(({ key }) => key),
    ...chains.flatMap(({ rpc }) => rpc.flatMap(endpoint => [endpoint, ...Object.values(endpoint.headers ?? {})])),
    ...outgoingSecrets(config).map(({ ref }) => ref),
    ...collectors.flatMap(({ options, place }) => secretsWritten(options, place.file).map(({ ref }) => ref)),
  ]
  return secrets.flatMap(fileOf)
}

/** Folders of the files of the configuration: other YAML files there are probably configurations, too. */
export function configFolders(config: Config): string[] {
  return [...new Set(configFiles(config).map(file => dirname(file)))]
}

type Kept = SecretRef | EndpointRef | HeaderValue | undefined

function fileOf(ref: Kept): string[] {
  return ref?.kind === 'file' ? [ref.path] : []
}
