import { defineTexts, pluralEn, pluralRu } from '../../i18n/texts.js'

export const importTexts = defineTexts(
  {
    title: 'Import YAML',
    pipelines: 'Pipelines',
    lead: 'Import pipelines in the format of the API: one document, several, or a list under “pipelines:”. Review the changes before you apply them.',
    yaml: 'YAML',
    choose: 'Choose files…',
    plan: 'Plan',
    planned: 'Changes',
    notPlanned: 'No plan yet. Nothing is saved until you apply the changes.',
    example: 'Use an example',
    mistakes: {
      syntax: (line: number, what: string) => `Line ${line}: ${what}`,
      shape: (line: number) =>
        `Line ${line}: must be a mapping: a pipeline, or a list of pipelines under “pipelines:”.`,
      nameless: (line: number) => `Line ${line}: a pipeline has no name.`,
      elsewhere: (line: number, field: string) =>
        `Line ${line}: ${field} refers to another file. Use vitrina apply for this file.`,
      rules: (line: number) => `Line ${line}: contains notification rules. Use vitrina apply for this file.`,
    },
    outcomes: {
      create: 'new',
      update: 'changed',
      unchanged: 'unchanged',
      undecided: 'undecided',
      refused: 'rejected',
    },
    fields: (n: number) => pluralEn(n, '# field', '# fields'),
    checkpointEffect: {
      none: 'No checkpoint yet.',
      kept: 'The checkpoint is kept; no rows are read again.',
      reset: 'The checkpoint is reset; the next run reads all rows again.',
      undecided:
        'This change invalidates the checkpoint. Change the pipeline on its own page to choose what happens to the checkpoint.',
    },
    apply: (n: number) => pluralEn(n, 'Apply # change', 'Apply # changes'),
    nothingToApply: 'No changes to apply.',
    done: 'saved',
    notDone: 'not saved',
    didApply: (n: number) => pluralEn(n, '# pipeline saved', '# pipelines saved'),
  },
  {
    title: 'Импорт YAML',
    pipelines: 'Пайплайны',
    lead: 'Импорт пайплайнов в формате API: один документ, несколько или список в поле «pipelines:». Перед применением проверьте изменения.',
    yaml: 'YAML',
    choose: 'Выбрать файлы…',
    plan: 'Построить план',
    planned: 'Изменения',
    notPlanned: 'Плана пока нет. До применения изменений ничего не сохраняется.',
    example: 'Использовать пример',
    mistakes: {
      syntax: (line: number, what: string) => `Строка ${line}: ${what}`,
      shape: (line: number) =>
        `Строка ${line}: нужен словарь: пайплайн или список пайплайнов в поле «pipelines:».`,
      nameless: (line: number) => `Строка ${line}: у пайплайна нет имени.`,
      elsewhere: (line: number, field: string) =>
        `Строка ${line}: ${field} ссылается на другой файл. Используйте команду vitrina apply.`,
      rules: (line: number) => `Строка ${line}: есть правила уведомлений. Используйте команду vitrina apply.`,
    },
    outcomes: {
      create: 'новый',
      update: 'изменится',
      unchanged: 'без изменений',
      undecided: 'требует решения',
      refused: 'отклонён',
    },
    fields: (n: number) => pluralRu(n, '# поле', '# поля', '# полей'),
    checkpointEffect: {
      none: 'Контрольной точки ещё нет.',
      kept: 'Контрольная точка сохранится; строки не будут прочитаны заново.',
      reset: 'Контрольная точка будет сброшена; следующий запуск прочитает все строки заново.',
      undecided:
        'После этого изменения контрольная точка недействительна. Измените пайплайн на его странице: там можно выбрать, что с ней сделать.',
    },
    apply: (n: number) =>
      pluralRu(n, 'Применить # изменение', 'Применить # изменения', 'Применить # изменений'),
    nothingToApply: 'Нет изменений для применения.',
    done: 'сохранён',
    notDone: 'не сохранён',
    didApply: (n: number) =>
      pluralRu(n, 'Сохранён # пайплайн', 'Сохранено # пайплайна', 'Сохранено # пайплайнов'),
  },
)
