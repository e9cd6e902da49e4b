import { Fault } from '../../model/fault.ts'
import { EndpointFailure } from './endpoint-failure.ts'

/** Headers that an operator gives an endpoint's requests, by their names. Secrets. May throw a Fault. */
export type OwnHeaders = () => Readonly<Record<string, string>>

/** The headers as they are now. @throws EndpointFailure when a secret among them cannot be read */
export function ownHeaders(host: string, own: OwnHeaders): Readonly<Record<string, string>> {
  try {
    return own()
  } catch (error) {
    if (error instanceof Fault) throw new EndpointFailure(host, `cannot be asked: ${error.message}`)
    throw error
  }
}

/** Shorter ones are words. */
const secretCharsMin = 8

/** What a node answers, without the values of headers: it may repeat them when it refuses. */
export function withoutValues(text: string, headers: Readonly<Record<string, string>>): string {
  return Object.values(headers)
    .flatMap(value => [value, ...value.split(' ')])
    .filter(value => value.length >= secretCharsMin)
    .reduce((rest, value) => rest.replaceAll(value, '(redacted)'), text)
}
