import { z } from 'zod'
import { secretRef } from './text-field.ts'

/** Where it is reported that each hour was collected and delivered. */
export const heartbeat = z
  .strictObject({
    url: secretRef.meta({
      description:
        'Where the address of the check is kept. It is HTTPS, or http:// on a loopback address, is read when needed, and is never written in this file.',
      examples: [{ env: 'HEARTBEAT_URL' }, { file: '/run/secrets/heartbeat_url' }],
      minProperties: 1,
      maxProperties: 1,
    }),
  })
  .meta({
    description:
      'A POST for each hour, as Healthchecks.io takes it: to /start of an address when collecting begins, then to the address itself, or to its /fail when a collector failed or something is undelivered.',
    examples: [{ url: { env: 'HEARTBEAT_URL' } }],
  })
