import type { AppContext } from '../../app/context.ts'
import { certificateNotes, egressOf } from '../../config/certificates.ts'
import { Fault } from '../../model/fault.ts'
import { shownHost } from '../../model/host.ts'
import { type Finding, failed, ok } from './here.ts'

/** Findings about the way out of this machine: the proxy and what cannot be checked behind it, certificates, headers for the service. */
export function egressFindings({ config, time }: AppContext): Finding[] {
  const { service } = config
  const names = service.kind === 'remote' ? Object.keys(service.headers?.headers ?? {}) : []
  return [
    ...proxyFindings(config),
    ...certificateNotes(config, time.nowMs()).map(({ place: _, ...finding }) => finding),
    ...(names.length > 0 ? [ok('headers', `the service is sent ${names.join(', ')}`)] : []),
  ]
}

function proxyFindings(config: AppContext['config']): Finding[] {
  if (!config.proxy) {
    const set = ['HTTPS_PROXY', 'https_proxy', 'ALL_PROXY', 'all_proxy'].find(name => process.env[name])
    return set ? [ok('proxy', `${set} is set here and not used; proxy: { env: ${set} } would use it`)] : []
  }
  try {
    const { proxy = '', except } = egressOf({ proxy: config.proxy })
    const unchecked = 'whether a redirect of a source leads into a private network is for the proxy to check'
    return [
      ok(
        'proxy',
        `${shownHost(new URL(proxy))} is used for all but ${['this machine', ...except].join(', ')}; ${unchecked}`,
      ),
    ]
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return [failed('proxy', error.message, error.fix)]
  }
}
