import type { WebReply, WebRequest } from '../../edge/web-server.ts'
import type { StoredKey } from '../store/keys.ts'
import type { Store } from '../store/store.ts'
import { ServiceRefusal } from './refusal.ts'

const bearer = /^bearer +([A-Za-z0-9._~+/-]+=*) *$/i

/** Finds the caller of a request, once, before its body is read. */
type Hook = (request: WebRequest, reply: WebReply) => Promise<void>

/** Refuses a request without a valid key: 401. */
export function keyRequired(store: Store): Hook {
  return async request => {
    request.setDecorator('caller', validKey(request.headers.authorization, store))
  }
}

/** Accepts a request without a key; a key that is sent must be valid. */
export function keyOptional(store: Store): Hook {
  return async request => {
    const header = request.headers.authorization
    if (header !== undefined) request.setDecorator('caller', validKey(header, store))
  }
}

/** The caller of a request accepted by `keyRequired`. */
export function callerOf(request: WebRequest): StoredKey {
  const caller = optionalCallerOf(request)
  if (!caller) throw new Error('a route that asks for its caller has no hook that requires a key')
  return caller
}

/** The caller of a request accepted by `keyOptional`; `undefined` without a key. */
export function optionalCallerOf(request: WebRequest): StoredKey | undefined {
  return request.getDecorator<StoredKey | null>('caller') ?? undefined
}

function validKey(header: string | undefined, store: Store): StoredKey {
  if (header === undefined)
    throw new ServiceRefusal(401, 'no key: send it in the header Authorization as Bearer <API_KEY>')
  const key = bearer.exec(header)?.[1]
  if (key === undefined) throw new ServiceRefusal(401, 'the header Authorization is not of the form Bearer <API_KEY>')
  const caller = store.keys.find(key)
  if (!caller) throw new ServiceRefusal(401, 'the key is not valid: it is unknown, revoked or was replaced')
  return caller
}
