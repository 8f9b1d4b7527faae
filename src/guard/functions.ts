/**
 * The functions of pg_catalog that a source query may call, by name. Each of them only computes: no overload of these
 * names runs SQL text, takes a table by name, reads a file, a setting or the server's state, waits, locks or writes.
 * functions.test.ts verifies that against the real pg_proc. Unknown functions are rejected.
 *
 * random(), clock_timestamp() and the like are allowed: harmless, though they make a mart differ from run to run.
 */
const STRING = `ascii bit_length btrim casefold char_length character_length chr concat concat_ws convert convert_from
  convert_to crc32 crc32c decode encode format get_bit get_byte hashint4 hashint8 hashtext hashtextextended initcap
  is_normalized left length like like_escape lower lpad ltrim md5 normalize notlike octet_length overlay parse_ident
  pg_collation_for position quote_ident quote_literal quote_nullable regexp_count regexp_instr regexp_like regexp_match
  regexp_matches regexp_replace regexp_split_to_array regexp_split_to_table regexp_substr repeat replace reverse right
  rpad rtrim set_bit set_byte sha224 sha256 sha384 sha512 similar_escape similar_to_escape split_part starts_with
  string_to_array string_to_table strpos substr substring textlen to_ascii to_bin to_hex to_oct translate
  unicode_assigned unistr upper bit_count`

const MATH = `abs acos acosd acosh asin asind asinh atan atan2 atan2d atand atanh cbrt ceil ceiling cos cosd cosh cot
  cotd degrees div erf erfc exp factorial floor gamma gcd lcm lgamma ln log log10 min_scale mod pi pow power radians
  random random_normal round scale sign sin sind sinh sqrt tan tand tanh trim_scale trunc width_bucket`

const TIME = `age clock_timestamp date_add date_bin date_part date_subtract date_trunc extract isfinite justify_days
  justify_hours justify_interval make_date make_interval make_time make_timestamp make_timestamptz now overlaps
  statement_timestamp timeofday timezone to_char to_date to_number to_timestamp transaction_timestamp`

const AGGREGATE = `any_value array_agg avg bit_and bit_or bit_xor bool_and bool_or corr count covar_pop covar_samp every
  json_agg json_agg_strict json_object_agg json_object_agg_strict json_object_agg_unique json_object_agg_unique_strict
  jsonb_agg jsonb_agg_strict jsonb_object_agg jsonb_object_agg_strict jsonb_object_agg_unique
  jsonb_object_agg_unique_strict max min mode percentile_cont percentile_disc range_agg range_intersect_agg regr_avgx
  regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy stddev stddev_pop stddev_samp
  string_agg sum var_pop var_samp variance xmlagg`

const WINDOW =
  'cume_dist dense_rank first_value lag last_value lead nth_value ntile percent_rank rank row_number'

const JSON_ = `array_to_json json_array_elements json_array_elements_text json_array_length json_build_array
  json_build_object json_each json_each_text json_extract_path json_extract_path_text json_object json_object_keys
  json_populate_record json_populate_recordset json_strip_nulls json_to_record json_to_recordset json_typeof
  jsonb_array_elements jsonb_array_elements_text jsonb_array_length jsonb_build_array jsonb_build_object jsonb_concat
  jsonb_contains jsonb_delete jsonb_delete_path jsonb_each jsonb_each_text jsonb_exists jsonb_exists_all
  jsonb_exists_any jsonb_extract_path jsonb_extract_path_text jsonb_insert jsonb_object jsonb_object_keys
  jsonb_path_exists jsonb_path_exists_tz jsonb_path_match jsonb_path_match_tz jsonb_path_query jsonb_path_query_array
  jsonb_path_query_array_tz jsonb_path_query_first jsonb_path_query_first_tz jsonb_path_query_tz jsonb_populate_record
  jsonb_populate_record_valid jsonb_populate_recordset jsonb_pretty jsonb_set jsonb_set_lax jsonb_strip_nulls
  jsonb_to_record jsonb_to_recordset jsonb_typeof row_to_json to_json to_jsonb`

const ARRAY = `array_append array_cat array_dims array_fill array_length array_lower array_ndims array_position
  array_positions array_prepend array_remove array_replace array_reverse array_sample array_shuffle array_sort
  array_to_string array_upper cardinality generate_series generate_subscripts trim_array unnest enum_first enum_last
  enum_range num_nonnulls num_nulls`

const RANGE =
  'isempty lower_inc lower_inf upper_inc upper_inf range_merge multirange range_adjacent range_contains range_overlaps'

const SEARCH = `array_to_tsvector get_current_ts_config json_to_tsvector jsonb_to_tsvector numnode phraseto_tsquery
  plainto_tsquery querytree setweight strip to_tsquery to_tsvector ts_delete ts_filter ts_headline ts_lexize ts_rank
  ts_rank_cd tsquery_phrase tsvector_to_array websearch_to_tsquery`

const OTHER = `abbrev broadcast family host hostmask inet_merge inet_same_family macaddr8_set7bit masklen netmask network
  set_masklen area bound_box center diagonal diameter height isclosed ishorizontal isopen isparallel isperp isvertical
  npoints pclose popen radius slope width gen_random_uuid uuid_extract_timestamp uuid_extract_version uuidv4 uuidv7
  xml_is_well_formed xml_is_well_formed_content xml_is_well_formed_document xmlcomment xmlexists xmltext xpath
  xpath_exists pg_column_size pg_size_bytes pg_size_pretty pg_typeof`

/** A type name called as a function is a cast: date(created), int4('7'), tstzrange(a, b). */
const CASTS = `bit bool box bpchar bytea char cidr circle date datemultirange daterange float4 float8 inet int2
  int4 int4multirange int4range int8 int8multirange int8range interval json jsonb line lseg macaddr macaddr8 money name
  numeric nummultirange numrange path point polygon text time timestamp timestamptz timetz tsmultirange tsrange
  tstzmultirange tstzrange uuid varbit varchar xml`

/** Functions that make one value of many rows. */
export const AGGREGATES: ReadonlySet<string> = new Set(AGGREGATE.split(/\s+/))

export const ALLOWED_FUNCTIONS: ReadonlySet<string> = new Set(
  [STRING, MATH, TIME, AGGREGATE, WINDOW, JSON_, ARRAY, RANGE, SEARCH, OTHER, CASTS].flatMap((names) =>
    names.split(/\s+/),
  ),
)

/** Why a common function is not on the list: the first matching pattern gives the reason. */
const REASONS: readonly (readonly [RegExp, string])[] = [
  [/^pg_sleep/, 'only makes the server wait'],
  [
    /^(query|cursor)_to_xml|^ts_stat$|^ts_rewrite$|^crosstab|^connectby$/,
    'runs SQL that is passed to it as text',
  ],
  [/^(table|schema|database)_to_xml/, 'reads tables by name, bypassing the allowed schemas'],
  [
    /^(pg_read_|pg_ls_|pg_stat_file$|pg_file_|lo_|loread$|lowrite$)/,
    'accesses files or large objects of the server',
  ],
  [
    /^dblink|^postgres_fdw|^pg_logical|^pg_replication|_replication_slot/,
    'accesses other servers or replication',
  ],
  [/^(nextval|setval|currval|lastval)$|^pg_sequence/, 'reads or advances a sequence'],
  [/^set_config$|^setseed$|^pg_reload_conf$/, 'changes settings'],
  [/^(current_setting|pg_show_|pg_settings_|pg_config|pg_conf_)/, 'shows settings of the server'],
  [
    /^pg_(terminate|cancel)_backend$|^pg_(promote|rotate|switch|wal|backup|create_restore)/,
    'controls the server',
  ],
  [/advisory|^pg_notify$|^pg_listening/, 'locks or signals other sessions'],
  [
    /^(txid_|pg_current_xact|pg_snapshot|pg_current_snapshot|pg_xact|pg_export_snapshot)/,
    'controls or shows transactions',
  ],
  [/^(has_|pg_has_role|row_security_active|acl|makeaclitem)/, 'shows privileges of roles'],
  [
    /^(version|inet_|current_|session_user$|user$|system_user$|getpgusername|pg_backend_pid|pg_postmaster)/,
    'shows the server or the session, not data',
  ],
  [
    /^(pg_stat|pg_get_|pg_relation|pg_table|pg_total|pg_database|pg_index|pg_lock|pg_describe|pg_identify|obj_|col_|shobj_|to_reg|format_type)/,
    'shows the catalog of the server',
  ],
]

/** Null for a name without a known reason. */
export function reasonAgainst(name: string): string | null {
  if (ALLOWED_FUNCTIONS.has(name)) return null
  const found = REASONS.find(([pattern]) => pattern.test(name))
  return found?.[1] ?? (name.startsWith('pg_') ? 'is internal to the server' : null)
}

/** SQL functions without parentheses that only return the time. The others return the current user or schema. */
export const TIME_WORDS: ReadonlySet<string> = new Set([
  'SVFOP_CURRENT_DATE',
  'SVFOP_CURRENT_TIME',
  'SVFOP_CURRENT_TIME_N',
  'SVFOP_CURRENT_TIMESTAMP',
  'SVFOP_CURRENT_TIMESTAMP_N',
  'SVFOP_LOCALTIME',
  'SVFOP_LOCALTIME_N',
  'SVFOP_LOCALTIMESTAMP',
  'SVFOP_LOCALTIMESTAMP_N',
])
