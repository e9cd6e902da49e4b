import { z } from 'zod'
import { registration } from '../../model/wire.ts'
import { type Api, answers, keyIsRequired } from './api.ts'
import { callerOf, keyRequired } from './auth.ts'
import { slug } from './slug.ts'

const querystring = z.object({ id: registration.shape.id.meta({ description: 'The protocol slug to check' }) })

const availability = z
  .object({
    success: z.literal(true),
    id: z.string().meta({ description: 'The id as it would be kept: sanitised' }),
    available: z.boolean().meta({ description: 'Whether it can be registered now' }),
    owned: z.boolean().meta({ description: 'Whether the calling key owns the protocol of this id' }),
  })
  .meta({ id: 'Availability' })

/** GET /api/validate-protocol (section 4.5). */
export function validateProtocol({ server, store }: Api): void {
  server.route({
    method: 'GET',
    url: '/api/validate-protocol',
    schema: {
      operationId: 'validateProtocol',
      summary: 'Check whether a protocol id can be used',
      security: keyIsRequired,
      querystring,
      response: answers('Whether the id is free', availability, 400, 401),
    },
    onRequest: keyRequired(store),
    async handler(request): Promise<z.infer<typeof availability>> {
      const id = slug(request.query.id)
      const taken = store.protocols.find(id)
      return { success: true, id, available: !taken, owned: taken?.ownerNo === callerOf(request).no }
    },
  })
}
