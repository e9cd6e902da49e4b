import { Fault } from '../../model/fault.ts'
import { secretPartsOf } from '../../model/host.ts'
import { EndpointFailure } from './endpoint-failure.ts'

/** Returns configured headers of an endpoint by name; secrets. May throw a Fault. */
export type OwnHeaders = () => Readonly<Record<string, string>>

/** The headers, read now. @throws EndpointFailure when a secret among them cannot be read */
export function ownHeaders(host: string, own: OwnHeaders): Readonly<Record<string, string>> {
  try {
    return own()
  } catch (error) {
    if (error instanceof Fault) throw new EndpointFailure(host, `cannot be asked: ${error.message}`)
    throw error
  }
}

/** A node's text without the values of headers, which it may repeat when it refuses. */
export function withoutValues(text: string, headers: Readonly<Record<string, string>>): string {
  return Object.values(headers)
    .flatMap(value => secretPartsOf(value))
    .reduce((rest, value) => rest.replaceAll(value, '(redacted)'), text)
}
