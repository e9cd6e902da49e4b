import { isRecord, valueAt } from '../model/json.ts'
import { priceConfig } from './build.ts'
import type { CollectorConfig } from './config.ts'
import type { ConfigDocument, PlaceOf } from './document.ts'
import { ownIdOf } from './schema/text-parsers.ts'

/**
 * The collectors and prices of a file with mistakes that are written well enough to check their options, so that all
 * mistakes are reported at once.
 */
export function draftsIn({ written, placeOf }: ConfigDocument): CollectorConfig[] {
  return [...pricesIn(written, placeOf), ...collectorsIn(written, placeOf)]
}

function pricesIn(written: unknown, placeOf: PlaceOf): CollectorConfig[] {
  const prices = valueAt(written, ['prices'])
  if (!isRecord(prices)) return []
  return Object.entries(prices).flatMap(([name, sources]) =>
    Array.isArray(sources) && sources.length > 0 ? [priceConfig(name, sources, placeOf).collector] : [],
  )
}

function collectorsIn(written: unknown, placeOf: PlaceOf): CollectorConfig[] {
  return listIn(written, 'protocols').flatMap((protocol, index) =>
    listIn(protocol, 'collectors').flatMap((collector, at): CollectorConfig[] => {
      const path = ['protocols', index, 'collectors', at]
      const [use, options = {}] = [valueAt(collector, ['use']), valueAt(collector, ['options'])]
      if (typeof use !== 'string' || use.trim() === '' || typeof options !== 'object' || options === null) return []
      const [protocolId, own] = [valueAt(protocol, ['id']), valueAt(collector, ['id'])].map(id =>
        typeof id === 'string' ? id : '',
      )
      return [
        {
          id: `${protocolId || path[1]}/${own || ownIdOf(use)}`,
          protocolId: protocolId ?? '',
          use,
          options,
          place: placeOf(path),
          placeOf: (inner, which) => placeOf([...path, 'options', ...inner], which),
        },
      ]
    }),
  )
}

function listIn(map: unknown, key: string): readonly unknown[] {
  const list = valueAt(map, [key])
  return Array.isArray(list) ? list : []
}
