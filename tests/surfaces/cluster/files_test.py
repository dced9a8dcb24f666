#!/usr/bin/env python3
"""files_test.py - tests examples/cluster, except for what requires a cluster and its engines.

    files_test.py ROOT PROGRAM      PROGRAM: translate; the library by XFORMER_LIBRARY

tests/surfaces/cluster/engines.sh runs the same on Spark and Ray.

SPDX-License-Identifier: Apache-2.0
"""
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

ROOT, PROGRAM = pathlib.Path(sys.argv[1]), sys.argv[2]
HERE = ROOT / "examples/cluster"
MODEL = ROOT / "examples/translate/en-de.xf"
sys.dont_write_bytecode = True  # the folder is an example, and packed as it is
sys.path[:0] = [str(HERE), str(ROOT / "bindings/python")]

import bulk  # noqa: E402 (after the path to it)

OPTIONS = {"context.threads": 1, "decode.beam": 1}
TEXTS = ["Choose File - Save.", None, "", b"\xff\xfe", "x " * 3000, float("nan"), b"The file could not be found."]


class Worker(unittest.TestCase):
    """bulk.py: lists to lists, a model that stays loaded."""

    def test_a_text_that_fails_does_not_fail_the_others(self):
        translations, reasons = bulk.Translator(str(MODEL), OPTIONS)(TEXTS)
        self.assertEqual([text is None for text in translations], [False, True, False, True, True, True, False])
        self.assertEqual([reason is None for reason in reasons], [text is not None for text in translations])
        self.assertEqual(translations[2], "")
        self.assertRegex(reasons[1], "text is missing")
        self.assertRegex(reasons[3], "UTF-8")
        self.assertRegex(reasons[4], "3001 tokens")

    def test_it_translates_as_the_program_does(self):
        lines = (ROOT / "examples/translate/data/small.test.tsv").read_bytes().split(b"\n")[:20]
        lines = [line.split(b"\t")[0] for line in lines] + [b"A return \r within.", b"\xff", b""]
        flags = [word for key, value in OPTIONS.items() for word in ("--" + key, str(value))]
        run = subprocess.run([PROGRAM, "translate", "--model", MODEL] + flags, input=b"\n".join(lines) + b"\n",
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=60)
        translations, _ = bulk.Translator(memoryview(MODEL.read_bytes()), OPTIONS)(iter(lines))
        self.assertEqual([bulk.one_line(text) for text in translations], run.stdout.decode().split("\n")[:-1])

    def test_a_translation_is_one_line(self):
        self.assertEqual(bulk.one_line("a\nb\rc\td"), "a b c d")
        self.assertEqual(bulk.one_line(None), "")

    def test_a_process_loads_a_model_once(self):
        with tempfile.TemporaryDirectory() as folder:
            copy = shutil.copy(MODEL, folder)
            first = bulk.translator(copy, OPTIONS)
            self.assertIs(bulk.translator(copy, dict(OPTIONS)), first)
            self.assertIsNot(bulk.translator(copy, {"context.threads": 2}), first)
            again = bulk.translator(copy, OPTIONS)
            os.utime(copy, ns=(1, 1))  # as if another model had taken its place
            self.assertIsNot(bulk.translator(copy, OPTIONS), again)
            self.assertEqual(len(bulk._kept), 1)
            with self.assertRaises(OSError):
                bulk.translator(copy + ".none", OPTIONS)

    def test_wrong_options_are_told_before_the_work(self):
        self.assertEqual(bulk.options_of(["decode.beam=1"], 2), {"context.threads": 2, "decode.beam": "1"})
        with self.assertRaises(SystemExit):
            bulk.options_of(["decode.beam"], 1)
        with self.assertRaises(bulk.xformer.NotFoundError):
            bulk.options_of(["decode.beem=1"], 1)


class Files(unittest.TestCase):
    """Programs and scripts that need an engine are at least in the language they are written in."""

    def test_programs_parse(self):
        programs = sorted(HERE.glob("*.py")) + sorted((ROOT / "tests/surfaces/cluster").glob("*.py"))
        self.assertGreaterEqual(len(programs), 6)
        for path in programs:
            compile(path.read_text(encoding="utf-8"), str(path), "exec")
        for path in [HERE / "train-slurm.sbatch", ROOT / "tests/surfaces/cluster/engines.sh"]:
            subprocess.run(["bash", "-n", path], check=True)

    def test_the_job_of_the_mpi_operator(self):
        """The fields of MPIJob v2beta1 as its controller checks them, and the numbers that belong together."""
        try:
            import yaml
        except ImportError:
            self.skipTest("there is no PyYAML (Debian: python3-yaml)")
        job = yaml.safe_load((HERE / "mpijob.yaml").read_text(encoding="utf-8"))
        self.assertEqual((job["apiVersion"], job["kind"]), ("kubeflow.org/v2beta1", "MPIJob"))
        spec = job["spec"]
        self.assertLessEqual(set(spec), {"slotsPerWorker", "runPolicy", "mpiReplicaSpecs", "sshAuthMountPath",
                                         "launcherCreationPolicy", "mpiImplementation", "runLauncherAsWorker"})
        self.assertIn(spec["launcherCreationPolicy"], ("AtStartup", "WaitForWorkersReady"))
        self.assertIn(spec["runPolicy"]["cleanPodPolicy"], ("None", "Running", "All"))
        self.assertGreater(spec["runPolicy"]["backoffLimit"], 0)
        self.assertEqual(set(spec["mpiReplicaSpecs"]), {"Launcher", "Worker"})
        for replica in spec["mpiReplicaSpecs"].values():
            self.assertEqual(set(replica), {"replicas", "restartPolicy", "template"})
            self.assertEqual(replica["restartPolicy"], "OnFailure")
            (container,) = replica["template"]["spec"]["containers"]
            self.assertTrue(all(isinstance(word, str) for word in container["command"]))
            volumes = {volume["name"] for volume in replica["template"]["spec"]["volumes"]}
            self.assertEqual({mount["name"] for mount in container["volumeMounts"]}, volumes)
        launcher, worker = (spec["mpiReplicaSpecs"][name] for name in ("Launcher", "Worker"))
        self.assertEqual(launcher["replicas"], 1)
        words = launcher["template"]["spec"]["containers"][0]["command"]
        self.assertEqual(int(words[words.index("-n") + 1]), worker["replicas"] * spec["slotsPerWorker"])
        limits = worker["template"]["spec"]["containers"][0]["resources"]["limits"]
        self.assertEqual(words[words.index("--threads") + 1], limits["cpu"])


    def test_the_commands_are_those_of_the_program(self):
        """Every flag of the training commands that the files and the page show is one of the program."""
        known = set(re.findall(r"^ +(--[\w.-]+)", subprocess.run([PROGRAM, "train", "--help"], stdout=subprocess.PIPE,
                                                                check=True, timeout=60).stdout.decode(), re.M))
        for name in ("README.md", "train-slurm.sbatch", "mpijob.yaml"):
            text = (HERE / name).read_text(encoding="utf-8")
            command = re.search(r"\btranslate\s+(?:- )?train\s(.*?)(?:```|\nstatus|resources:)", text, re.S)[1]
            flags = set(re.findall(r"(?<!\S)--[\w.-]+", command))
            self.assertLessEqual({"--continue", "--train", "--model", "--train.shards", "--threads"}, flags, name)
            self.assertLessEqual(flags, known, name)


class Batch(unittest.TestCase):
    """train-slurm.sbatch with fake srun and scontrol commands."""

    def run_job(self, srun, restarts=0):
        """Returns (exit status, whether the job was queued again, arguments of srun)."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("srun", 'echo "$*" >words; ' + srun), ("scontrol", 'echo "$*" >queued')):
                path = pathlib.Path(folder, name)
                path.write_text("#!/bin/sh\n%s\n" % text)
                path.chmod(path.stat().st_mode | stat.S_IXUSR)
            environment = dict(os.environ, PATH="%s:%s" % (folder, os.environ["PATH"]), SLURM_JOB_ID="7",
                               SLURM_CPUS_PER_TASK="3", SLURM_RESTART_COUNT=str(restarts))
            run = subprocess.run(["bash", HERE / "train-slurm.sbatch"], cwd=folder, env=environment,
                                 stderr=subprocess.DEVNULL, timeout=60)
            queued = pathlib.Path(folder, "queued")
            if queued.exists():
                self.assertEqual(queued.read_text(), "requeue 7\n")
            return run.returncode, queued.exists(), pathlib.Path(folder, "words").read_text().split()

    def test_what_is_queued_again(self):
        self.assertEqual(self.run_job("exit 0")[:2], (0, False))
        self.assertEqual(self.run_job("exit 2")[:2], (2, False))  # wrong usage
        for status in (1, 130, 137):  # a rank was lost, or had to stop
            self.assertTrue(self.run_job("exit %d" % status)[1])
        self.assertEqual(self.run_job("exit 1", restarts=20)[:2], (1, False))
        self.assertEqual(self.run_job("kill -TERM $PPID; exit 130")[:2], (130, False))  # scancel

    def test_the_command(self):
        words = self.run_job("exit 0")[2]
        self.assertEqual(words[words.index("translate"):][:2], ["translate", "train"])
        self.assertEqual(words[words.index("--threads") + 1], "3")
        self.assertIn("--cpus-per-task=3", words)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
