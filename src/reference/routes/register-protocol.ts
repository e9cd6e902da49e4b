import { z } from 'zod'
import { registration } from '../../model/wire.ts'
import type { Protocol } from '../store/protocols.ts'
import { type Api, answers, keyIsRequired } from './api.ts'
import { callerOf, keyRequired } from './auth.ts'
import { ServiceRefusal } from './refusal.ts'
import { slug } from './slug.ts'

const body = registration
  .extend({ public: z.boolean().optional().meta({ description: 'Readable and writable by all; false when absent' }) })
  .meta({ id: 'ProtocolRegistration' })

const protocol = z
  .object({
    id: z.string().meta({ description: 'The sanitised id' }),
    name: z.string(),
    logo: z.string().optional(),
    chains: z.array(z.string()).optional(),
    public: z.boolean(),
  })
  .meta({ id: 'Protocol' })

const registered = z.object({ success: z.literal(true), protocol }).meta({ id: 'Registered' })

/** POST /api/register-protocol (section 4.1). */
export function registerProtocol({ server, store }: Api): void {
  server.route({
    method: 'POST',
    url: '/api/register-protocol',
    schema: {
      operationId: 'registerProtocol',
      summary: 'Register a protocol, owned by the calling key',
      security: keyIsRequired,
      body,
      response: answers('The protocol as it was created', registered, 400, 401, 413, 415),
    },
    onRequest: keyRequired(store),
    async handler(request): Promise<z.infer<typeof registered>> {
      const { public: isPublic, id, name, logo, chains } = request.body
      const optional = { ...(logo === undefined ? {} : { logo }), ...(chains === undefined ? {} : { chains }) }
      const asked = { id: slug(id), name, ...optional, visibility: isPublic ? 'public' : 'private' } as const
      const created = store.protocols.register(asked, callerOf(request))
      if (!created) throw taken(id, asked.id)
      return { success: true, protocol: shown(created) }
    },
  })
}

function taken(id: string, sanitised: string): ServiceRefusal {
  const message = `the protocol id "${sanitised}" is taken${id === sanitised ? '' : ` ("${id}", sanitised)`}`
  return new ServiceRefusal(400, message, [{ field: 'id', message: 'is taken: choose another' }])
}

function shown({ no: _no, ownerNo: _ownerNo, visibility, chains, ...rest }: Protocol): z.infer<typeof protocol> {
  return { ...rest, ...(chains ? { chains: [...chains] } : {}), public: visibility === 'public' }
}
