import { InvalidArgumentError, Option } from 'commander'
import { z } from 'zod'
import { type FieldDefinition, PIPELINE_FIELDS, type PipelineField } from '../../model/pipeline-fields.js'
import { collect, decimal, wholeNumber } from '../program/command.js'

/** The options that set a field: none, one, or for a switch also its negation. */
export function fieldOptions(name: PipelineField): Option[] {
  const { option, schema }: FieldDefinition = PIPELINE_FIELDS[name]
  if (option === undefined) return []
  const yes = readAs(bareSchema(schema), new Option(option.flag, option.help))
  if (option.helpForNo === undefined) return [yes]
  return [yes, new Option(option.flag.replace('--', '--no-'), option.helpForNo)]
}

/** The property under which Commander returns the value of a field. */
export function flagOf(name: PipelineField): string {
  const { option }: FieldDefinition = PIPELINE_FIELDS[name]
  return new Option(option?.flag ?? `--${name.replaceAll('_', '-')}`).attributeName()
}

function bareSchema(schema: z.ZodType): z.ZodType {
  const isWrapped =
    schema instanceof z.ZodDefault || schema instanceof z.ZodOptional || schema instanceof z.ZodNullable
  return isWrapped ? bareSchema(schema.unwrap() as z.ZodType) : schema
}

/** Only the shape is checked here; the server checks the value. */
function readAs(schema: z.ZodType, option: Option): Option {
  if (schema instanceof z.ZodEnum) return option.choices(schema.options as string[])
  if (schema instanceof z.ZodArray) return option.argParser(collect)
  if (schema instanceof z.ZodNumber) return option.argParser(schema.isInt ? wholeNumber : decimal)
  if (schema instanceof z.ZodUnion) return option.argParser(unionParser(schema))
  return option
}

function unionParser(schema: z.ZodUnion): (given: string, earlier: unknown) => unknown {
  const words = wordsOf(schema)
  if (!schema.options.some((one) => one instanceof z.ZodArray)) return wordOrNumber(words)
  return (given, earlier) =>
    words.includes(given) ? given : collect(given, Array.isArray(earlier) ? earlier : undefined)
}

function wordsOf(schema: z.ZodUnion): unknown[] {
  return schema.options.flatMap((one) => (one instanceof z.ZodLiteral ? [...one.values] : []))
}

function wordOrNumber(words: readonly unknown[]): (given: string) => number | string {
  return (given) => {
    if (words.includes(given)) return given
    if (/^[1-9]\d{0,14}$/.test(given)) return Number(given)
    throw new InvalidArgumentError(`Enter a whole number or ${words.join(' or ')}.`)
  }
}
