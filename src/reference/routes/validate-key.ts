import { z } from 'zod'
import { type Api, answers, keyIsRequired } from './api.ts'
import { callerOf, keyRequired } from './auth.ts'

const validity = z
  .object({
    success: z.literal(true),
    valid: z.literal(true),
    name: z.string().meta({ description: 'Name the key was given when it was made' }),
  })
  .meta({ id: 'KeyValidity' })

/** GET /api/validate-key (section 4.6). An invalid key is answered 401, as everywhere. */
export function validateKey({ server, store }: Api): void {
  server.route({
    method: 'GET',
    url: '/api/validate-key',
    schema: {
      operationId: 'validateKey',
      summary: 'Check that the key is valid',
      security: keyIsRequired,
      response: answers('The key is valid', validity, 401),
    },
    onRequest: keyRequired(store),
    async handler(request): Promise<z.infer<typeof validity>> {
      return { success: true, valid: true, name: callerOf(request).name }
    },
  })
}
