import { readSparkProfiles } from '../../src/config/spark-profiles.js'
import { SparkEngine } from '../../src/spark/spark-engine.js'

/** A Spark engine that knows these profiles and looks for programs in this PATH. */
export function anEngine(profiles: object = {}, path = ''): SparkEngine {
  const mistakes: string[] = []
  const read = readSparkProfiles({ SPARK_PROFILES: JSON.stringify(profiles) }, mistakes)
  if (mistakes.length > 0) throw new Error(mistakes.join('; '))
  return new SparkEngine({ profiles: read, environment: { PATH: path } })
}
