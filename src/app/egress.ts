import { egressOf } from '../config/certificates.ts'
import { proxySecrets } from '../config/secret.ts'
import { setEgress } from '../edge/egress.ts'
import type { AppContext } from './context.ts'

/** Has this process connect as its configuration says, from now on: through its proxy, with its authorities. */
export function useEgress({ config, redactor }: Pick<AppContext, 'config' | 'redactor'>): void {
  setEgress(() => {
    const egress = egressOf(config)
    if (egress.proxy !== undefined) redactor.add(proxySecrets(egress.proxy))
    return egress
  })
}
